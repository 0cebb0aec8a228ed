// Package main publishes its payload into the table that a header names, and says what came of it.
package main

import (
	"fmt"
	"time"

	inbox "github.com/inbox-wasm/inbox-wasm/guest-sdk/go"
)

func init() { inbox.Handle(handle) }

func main() {}

func handle(m *inbox.Message) error {
	priority := int64(3)
	err := inbox.Publish(m.Header("publish"), &inbox.Publication{Payload: m.Payload(), Headers: map[string]string{"a": "b"}, Delay: time.Minute, Priority: &priority})
	return inbox.DeadLetter(fmt.Sprint(err))
}
