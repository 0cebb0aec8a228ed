// Package inbox is the Go SDK for handlers that run inside inbox-wasm.
//
// A handler is a program whose main does nothing and whose init registers a function:
//
//	package main
//
//	import inbox "github.com/inbox-wasm/inbox-wasm/guest-sdk/go"
//
//	func init() { inbox.Handle(handle) }
//
//	func main() {}
//
//	func handle(m *inbox.Message) error {
//		if len(m.Payload()) == 0 {
//			return inbox.DeadLetter("the payload is empty")
//		}
//		return nil // ack: the row is finished
//	}
//
// Build it as a reactor, which is what Go calls a shared library here:
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -o handler.wasm .
//
// What the function returns decides about the row: nil finishes it, [Retry],
// [RetryAfter], [Snooze], [Drop] and [DeadLetter] do as they say, and any other error
// tries again after the subscription's backoff with the error's text as the reason.
//
// A guest handles one message at a time, or with package batch several in one call. Its globals live as long as the instance and
// serve one message after the other, so that what is costly to prepare belongs into
// [Init]. Package inboxtest runs handlers in ordinary Go tests.
package inbox

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/inbox-wasm/inbox-wasm/guest-sdk/go/internal/host"
)

var (
	handler    func(*Message) error
	initialize func() error
)

func init() {
	host.HandleMessage = handleMessage
	host.Initialize = runInit
	host.Settle = settle
	host.ExplainPanic = explainPanic
}

// Handle registers the function that handles messages. Call it in an init function.
func Handle(handle func(*Message) error) { handler = handle }

// Init registers a function that runs once in each instance before its first message,
// with the configuration, the log, the clock and random numbers at hand. Its error
// refuses the instance: claims pause, and no message spends an attempt on it.
func Init(start func() error) { initialize = start }

func runInit() int32 {
	defer explainPanic()
	err := errors.New("no handler is registered: call inbox.Handle in an init function")
	if handler != nil {
		err = nil
		if initialize != nil {
			err = initialize()
		}
	}
	if err != nil {
		setReason(err.Error())
		return 1
	}
	return 0
}

func handleMessage() int32 {
	defer explainPanic()
	current.reset()
	return settle(handler(&current))
}

// explainPanic gives a panic's value to the host as the reason and lets the panic go
// on: it ends the instance, and the log gets the stack. It is deferred itself,
// because only then it can recover.
func explainPanic() {
	if value := recover(); value != nil {
		setReason(fmt.Sprint("panic: ", value))
		panic(value)
	}
}

// Now is the host's time.
func Now() time.Time { return time.UnixMilli(host.NowMs()) }

// Random fills p with random bytes from the host, which are fit for cryptography.
func Random(p []byte) {
	if code := host.Random(p); code < 0 {
		panic(hostError("random", code))
	}
}

// LookupConfig reads one of the handler's own settings, which stand under config in
// inbox.toml.
func LookupConfig(key string) (value string, exists bool) {
	buf, exists := read("config", make([]byte, 0, 128), func(buf []byte) int32 { return host.Config(key, buf) })
	return string(buf), exists
}

// Config reads a setting like [LookupConfig]; one that does not exist is empty.
func Config(key string) string {
	value, _ := LookupConfig(key)
	return value
}

// read asks the host for a value, in a buffer that grows until the value fits.
func read(what string, buf []byte, call func(buf []byte) int32) (value []byte, exists bool) {
	for {
		n := call(buf[:cap(buf)])
		switch {
		case n == host.Absent:
			return buf[:0], false
		case n < 0:
			panic(hostError(what, n))
		case int(n) <= cap(buf):
			return buf[:n], true
		}
		buf = make([]byte, n)
	}
}

func hostError(function string, code int32) string {
	return fmt.Sprintf("inbox: the host refuses %s with %d", function, code)
}

// setReason tells the host why. Text that is not UTF-8 would be refused, and a reason
// with a few replaced bytes is better than none. A reason that is refused all the same
// does not change the outcome.
func setReason(text string) { host.Reason(strings.ToValidUTF8(text, "\uFFFD")) }
