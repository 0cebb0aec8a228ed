// Command mails is a handler that has a service send mails: once each, though it may ask more than once.
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -o mails.wasm ./examples/wasm/mails/go
//
// The row's id is the key by which the service knows a mail that it has sent before. What the service cannot do now is
// tried again, when it says or after the backoff; what it never will is a dead letter.
package main

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	inbox "github.com/inbox-wasm/inbox-wasm/guest-sdk/go"
)

func init() {
	inbox.Init(start)
	inbox.Handle(handle)
}

func main() {}

// settings are read once, when the instance starts.
var settings struct{ url, token string }

func start() error {
	settings.url, settings.token = inbox.Config("url"), inbox.Config("token")
	if settings.url == "" {
		return errors.New("config: url is missing: set it to where mails are posted")
	}
	return nil
}

func handle(m *inbox.Message) error {
	meta := m.Meta()
	headers := map[string]string{"Content-Type": "application/json", "Idempotency-Key": meta.Table + "-" + meta.ID}
	if settings.token != "" {
		headers["Authorization"] = "Bearer " + settings.token
	}
	r, err := inbox.Send(&inbox.Request{Method: "POST", URL: settings.url, Headers: headers, Body: m.Payload(), Timeout: 10 * time.Second})
	if err != nil {
		return err // nobody answered: again after the backoff
	}
	switch {
	case r.Status < 300:
		return nil
	case r.Status == 429 || r.Status >= 500:
		why := fmt.Sprintf("the service says %d", r.Status)
		if seconds, err := strconv.Atoi(r.Headers["retry-after"]); err == nil {
			return inbox.RetryAfter(time.Duration(seconds)*time.Second, why)
		}
		return errors.New(why)
	}
	return inbox.DeadLetter(fmt.Sprintf("the service says %d: %.200s", r.Status, r.Body))
}
