// Command webhook is a handler for an inbox of GitHub webhooks: it accepts what is
// signed and well formed, and puts aside, with the reason, what is not.
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -o webhook.wasm ./examples/wasm/webhook/go
//
// Each message is one request as it came in: the body is the payload, and the headers
// of the request are the headers of the message.
package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	inbox "github.com/inbox-wasm/inbox-wasm/guest-sdk/go"
)

func init() {
	inbox.Init(start)
	inbox.Handle(handle)
}

func main() {}

// settings are read once, when the instance starts.
var settings struct {
	signer     *signer
	notReady   map[string]bool // event types that the receiving side cannot take yet
	retryDelay time.Duration
}

func start() error {
	secret := inbox.Config("secret")
	if secret == "" {
		return errors.New("config: secret is missing: set it to the webhook's secret")
	}
	settings.signer = newSigner(secret)

	settings.notReady = map[string]bool{}
	for name := range strings.SplitSeq(inbox.Config("not_ready"), ",") {
		if name = strings.TrimSpace(name); name != "" {
			settings.notReady[name] = true
		}
	}

	settings.retryDelay = time.Hour
	if text, exists := inbox.LookupConfig("retry_delay"); exists {
		delay, err := time.ParseDuration(text)
		if err != nil || delay <= 0 {
			return fmt.Errorf("config: retry_delay is %q: write a positive duration such as 1h", text)
		}
		settings.retryDelay = delay
	}
	return nil
}

// handle trusts nothing before the signature is checked, and parses before it looks
// whether the event can be taken: a broken event should not wait for an hour first.
func handle(m *inbox.Message) error {
	body := m.Payload()
	if err := settings.signer.check(body, m.Header("X-Hub-Signature-256")); err != nil {
		return inbox.DeadLetter("forged: " + err.Error())
	}
	name := m.Header("X-GitHub-Event")
	event, err := parse(name, body)
	if errors.Is(err, errUnknownType) {
		return inbox.Drop(err.Error())
	}
	if err != nil {
		return inbox.DeadLetter("malformed: " + err.Error())
	}
	if settings.notReady[name] {
		return inbox.RetryAfter(settings.retryDelay, name+" events are not taken yet")
	}
	inbox.Logger().Debug("accepted", "event", name, "delivery", m.Header("X-GitHub-Delivery"), "about", event)
	return nil
}
