// Package main sends its payload to the URL of its config, and says what came back.
package main

import (
	"fmt"
	"time"

	inbox "github.com/inbox-wasm/inbox-wasm/guest-sdk/go"
)

func init() { inbox.Handle(handle) }

func main() {}

func handle(m *inbox.Message) error {
	url := inbox.Config("url")
	r, err := inbox.Send(&inbox.Request{Method: "POST", URL: url + m.Header("path"), Body: m.Payload(),
		Headers: map[string]string{"Idempotency-Key": m.Meta().ID}, Timeout: 200 * time.Millisecond})
	if err != nil {
		return inbox.DeadLetter(err.Error())
	}
	return inbox.DeadLetter(fmt.Sprint(r.Status, " ", r.Headers["x-key"], " ", r.Body))
}
