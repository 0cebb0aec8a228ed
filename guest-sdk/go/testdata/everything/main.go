// Command everything is a handler that uses every function of the SDK.
package main

import inbox "github.com/inbox-wasm/inbox-wasm/guest-sdk/go"

func init() {
	inbox.Init(func() error {
		inbox.Logger().Info(inbox.Config("greeting"))
		return nil
	})
	inbox.Handle(handle)
}

func main() {}

func handle(m *inbox.Message) error {
	var seed [8]byte
	inbox.Random(seed[:])
	inbox.Logger().Info(m.Header("name"), "payload", m.Payload(), "attempt", m.Attempt(), "meta", m.Meta(),
		"seed", seed, "now", inbox.Now())
	return inbox.RetryAfter(m.TimeLeft(), "again")
}
