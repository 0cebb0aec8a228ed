// Command batch is a handler of batches. Each payload says what becomes of its message; "panic" is about
// the batch.
package main

import (
	"errors"
	"strings"
	"time"

	inbox "github.com/inbox-wasm/inbox-wasm/guest-sdk/go"
	"github.com/inbox-wasm/inbox-wasm/guest-sdk/go/batch"
)

func init() { batch.Handle(handle) }

func main() {}

func handle(messages []*inbox.Message) error {
	var rest error
	for _, m := range messages {
		switch what, text, _ := strings.Cut(string(m.Payload()), " "); what {
		case "ack":
			batch.Settle(m, nil)
		case "later":
			batch.Settle(m, inbox.RetryAfter(time.Duration(m.Attempt())*time.Second, text))
		case "bury":
			batch.Settle(m, inbox.DeadLetter(m.Header("name")))
		case "rest":
			rest = errors.New(text)
		case "panic":
			panic(text)
		}
	}
	return rest
}
