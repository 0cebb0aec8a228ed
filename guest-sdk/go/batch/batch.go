// Package batch handles several messages a call, for a handler with batch = n in inbox.toml:
//
//	func init() { batch.Handle(handle) }
//
//	func main() {}
//
//	func handle(messages []*inbox.Message) error {
//		for _, m := range messages {
//			if len(m.Payload()) == 0 {
//				batch.Settle(m, inbox.DeadLetter("the payload is empty"))
//			}
//		}
//		return store(messages) // decides about all the others
//	}
//
// It is a package of its own because importing it is what makes a module export the entry point for
// batches, without which the host refuses batch = n.
package batch

import (
	inbox "github.com/inbox-wasm/inbox-wasm/guest-sdk/go"
	"github.com/inbox-wasm/inbox-wasm/guest-sdk/go/internal/host"
)

// Handle registers the function that handles batches. Call it in an init function, and not
// [inbox.Handle] too. The host waits for no batch to fill up: it may hold one message.
//
// What the function returns decides about the messages that [Settle] has not, as the error of a
// handler of one message does. A panic fails those alone, and the host delivers each of them again in
// a call of its own.
func Handle(handle func([]*inbox.Message) error) {
	host.HandleBatch = func(count int32) int32 {
		defer host.ExplainPanic()
		return run(handle, count)
	}
	// With batch = 1 the host calls the entry point for single messages.
	inbox.Handle(func(m *inbox.Message) error {
		defer func() { one, settled = nil, nil }()
		one = m
		if err := handle([]*inbox.Message{m}); settled == nil {
			return err
		}
		return *settled
	})
}

// Settle decides about one message of a batch: nil finishes its row, and the errors of package inbox
// do as they say. It takes effect whatever becomes of the batch. The last call counts.
func Settle(m *inbox.Message, err error) {
	if m == one {
		settled = &err
		return
	}
	m.Current(&current)
	host.Outcome(host.Settle(err))
	decided[m] = true
}

var (
	// current is the message that the host has been told to work on.
	current host.Current
	// decided are the messages of the batch that have an outcome.
	decided = map[*inbox.Message]bool{}
	// messages are kept for their memory.
	messages []*inbox.Message

	// one is the message of a call without a batch, and settled what was decided about it.
	one     *inbox.Message
	settled *error
)

func run(handle func([]*inbox.Message) error, count int32) int32 {
	clear(decided)
	current = host.Current{Select: host.Message}
	for int32(len(messages)) < count {
		messages = append(messages, new(inbox.Message))
	}
	for i := range count {
		messages[i].Renew(&current, i)
	}
	// A handler may do as it likes with its slice.
	err := handle(append([]*inbox.Message(nil), messages[:count]...))
	code := host.Ack
	for _, m := range messages[:count] {
		if !decided[m] {
			// Each has its own reason and delay.
			m.Current(&current)
			code = host.Settle(err)
		}
	}
	return code
}
