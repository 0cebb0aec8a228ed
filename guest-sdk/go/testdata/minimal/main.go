// Command minimal is a handler that asks the host for nothing.
package main

import inbox "github.com/inbox-wasm/inbox-wasm/guest-sdk/go"

func init() { inbox.Handle(func(*inbox.Message) error { return nil }) }

func main() {}
