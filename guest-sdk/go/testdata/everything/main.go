// Command everything is a handler that uses every function of the SDK. The payload
// names what it does.
package main

import (
	"encoding/json"
	"errors"
	"time"

	inbox "github.com/inbox-wasm/inbox-wasm/guest-sdk/go"
)

// greeting shows that inbox_init ran before the first message.
var greeting string

func init() {
	inbox.Init(func() error {
		if greeting = inbox.Config("greeting"); greeting == "" {
			return errors.New("no greeting")
		}
		return nil
	})
	inbox.Handle(handle)
}

func main() {}

func handle(m *inbox.Message) error {
	switch string(m.Payload()) {
	case "ack":
		return nil
	case "error":
		return errors.New("an error")
	case "retry":
		return inbox.Retry("why")
	case "retry_after":
		return inbox.RetryAfter(90*time.Second, "why")
	case "snooze":
		return inbox.Snooze(90*time.Second, "why")
	case "drop":
		return inbox.Drop("why")
	case "panic":
		panic("broken")
	case "nil":
		var nothing *inbox.Meta
		return inbox.Drop(nothing.ID)
	case "log":
		inbox.Logger().Warn("two words", "number", 7)
		return nil
	default:
		return inbox.DeadLetter(report(m))
	}
}

// report is everything that the handler can read, as JSON.
func report(m *inbox.Message) string {
	var random [16]byte
	inbox.Random(random[:])
	_, absent := m.LookupHeader("absent")
	text, err := json.Marshal(map[string]any{
		"greeting":  greeting,
		"payload":   string(m.Payload()),
		"header":    m.Header("kind"),
		"number":    m.Header("number"),
		"absent":    absent,
		"attempt":   m.Attempt(),
		"hurried":   m.TimeLeft() <= time.Minute,
		"meta":      m.Meta(),
		"random":    random != [16]byte{},
		"clocks":    inbox.Now().Sub(time.Now()).Abs() < time.Second,
		"traceable": inbox.LogEnabled(inbox.LevelTrace),
	})
	if err != nil {
		return err.Error()
	}
	return string(text)
}
