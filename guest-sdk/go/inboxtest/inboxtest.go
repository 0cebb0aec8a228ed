// Package inboxtest runs handlers in ordinary Go tests, on a host that is a fake:
//
//	func TestHandle(t *testing.T) {
//		host := inboxtest.New(t, map[string]string{"secret": "s"})
//		if refusal := host.Init(start); refusal != "" {
//			t.Fatal(refusal)
//		}
//		result := host.Deliver(handle, inboxtest.Message{Payload: []byte("{}")})
//		if result.Outcome != inboxtest.Ack {
//			t.Errorf("%s: %s", result.Outcome, result.Reason)
//		}
//	}
//
// A guest has one host and keeps its state in globals, so such tests must not run in
// parallel with each other.
package inboxtest

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"math"
	"testing"
	"time"

	inbox "github.com/inbox-wasm/inbox-wasm/guest-sdk/go"
	"github.com/inbox-wasm/inbox-wasm/guest-sdk/go/batch"
	"github.com/inbox-wasm/inbox-wasm/guest-sdk/go/internal/host"
)

// Host is a fake host.
type Host struct {
	// LogLevel is the lightest level that is kept; at first every level is.
	LogLevel inbox.Level
	// Now is what [inbox.Now] says; at first the time of the machine.
	Now func() time.Time
	// Tx answers the statements of [inbox.Tx] with the result's JSON, or an
	// [*inbox.SQLError]; args is a JSON array. Without it they are not allowed.
	Tx func(sql, args string) (result string, err error)
	// Pool answers those of [inbox.Pool] in the same way.
	Pool func(sql, args string) (result string, err error)

	// HTTP answers the requests of [inbox.Send], or fails with an [*inbox.HTTPError]. Without it they are not
	// allowed.
	HTTP func(*inbox.Request) (*inbox.Response, error)

	// Publish takes what [inbox.Publish] writes, as the JSON that the host gets. Without it that is not allowed.
	Publish func(table, message string) error

	t      testing.TB
	config map[string]string
	fake   *fake
}

// New puts a fake host with these settings in place until the test ends.
func New(t testing.TB, config map[string]string) *Host {
	t.Helper()
	if host.Fake != nil {
		t.Fatal("inboxtest: there is a host already: a guest has one, and its tests must not run in parallel")
	}
	h := &Host{Now: time.Now, t: t, config: config}
	h.fake = &fake{host: h}
	host.Fake = h.fake
	t.Cleanup(func() { host.Fake = nil })
	return h
}

// Message is what the fake host delivers. Its zero value is an empty payload.
type Message struct {
	Payload      []byte // nil is NULL
	Headers      map[string]string
	Subscription string
	Table        string
	Group        string
	ID           string
	Attempt      int
	MaxAttempts  int
	PartitionKey *string
	TimeLeft     time.Duration // 0 is no deadline
}

// Outcome is what becomes of a message, by the name that the host has for it.
type Outcome string

// The outcomes.
const (
	Ack        Outcome = "ack"
	Retry      Outcome = "retry"
	RetryAfter Outcome = "retry_after"
	Drop       Outcome = "drop"
	DeadLetter Outcome = "dead_letter"
	Snooze     Outcome = "snooze"
)

var outcomes = map[int32]Outcome{
	host.Ack: Ack, host.Retry: Retry, host.RetryAfter: RetryAfter,
	host.Drop: Drop, host.DeadLetter: DeadLetter, host.Snooze: Snooze,
}

// Result is what a handler did with a message.
type Result struct {
	Outcome  Outcome
	Reason   string
	Delay    time.Duration // for RetryAfter and Snooze
	HasDelay bool          // false: the subscription's backoff decides
	Log      []Line
}

// Line is a line of the log.
type Line struct {
	Level inbox.Level
	Text  string
}

// Deliver hands the message to the handler as the host would. A panic of the handler
// goes through to the test.
func (h *Host) Deliver(handle func(*inbox.Message) error, m Message) Result {
	inbox.Handle(handle)
	return h.DeliverHandled(m)
}

// DeliverHandled hands the message to the handler that is registered.
func (h *Host) DeliverHandled(m Message) Result {
	h.fake.message, h.fake.result = m, Result{}
	code := host.HandleMessage()
	h.fake.result.Outcome = outcomes[code]
	return h.fake.result
}

// DeliverBatch hands the messages to the handler in one call, as the host would for batch = n, and
// returns what it did with each.
func (h *Host) DeliverBatch(handle func([]*inbox.Message) error, messages ...Message) []Result {
	h.fake.batch = make([]delivered, len(messages))
	for i, m := range messages {
		h.fake.batch[i].message = m
	}
	h.fake.at = 0
	h.fake.load()
	batch.Handle(handle)
	code := host.HandleBatch(int32(len(messages)))
	h.fake.store()
	results := make([]Result, len(messages))
	for i, d := range h.fake.batch {
		if results[i] = d.result; d.result.Outcome == "" {
			results[i].Outcome = outcomes[code]
		}
	}
	h.fake.batch = nil
	return results
}

// Init runs a function as [inbox.Init] would have it run and returns the reason for
// which it refused the instance, empty where it did not.
func (h *Host) Init(start func() error) (refusal string) {
	h.fake.message, h.fake.result = Message{}, Result{}
	inbox.Handle(func(*inbox.Message) error { return nil })
	inbox.Init(start)
	if host.Initialize() == 0 {
		return ""
	}
	return h.fake.result.Reason
}

// fake answers as the host does for one message.
type fake struct {
	host    *Host
	message Message
	result  Result

	answer []byte // the last result of db, nil for none

	batch []delivered // nil outside of a batch
	at    int         // the current one
}

type delivered struct {
	message Message
	result  Result
}

// load makes the batch's current message the one that the functions are about, and store keeps what was
// said about it.
func (f *fake) load()  { f.message, f.result = f.batch[f.at].message, f.batch[f.at].result }
func (f *fake) store() { f.batch[f.at].result = f.result }

func (f *fake) Message(i int32) int32 {
	switch {
	case f.batch == nil:
		return notAllowed
	case i < 0 || int(i) >= len(f.batch):
		return badArgument
	}
	f.store()
	f.at = int(i)
	f.load()
	return 0
}

func (f *fake) Outcome(code int32) int32 {
	outcome, known := outcomes[code]
	switch {
	case f.batch == nil:
		return notAllowed
	case !known:
		return badArgument
	}
	f.result.Outcome = outcome
	return 0
}

// DB asks the test.
func (f *fake) DB(conn int32, sql, args string) int32 {
	f.answer = nil
	run := f.host.Pool
	if conn == 1 {
		run = f.host.Tx
	}
	if run == nil {
		return notAllowed
	}
	answer, err := run(sql, args)
	if err == nil {
		f.answer = []byte(answer)
		return int32(len(answer))
	}
	if f.answer, err = json.Marshal(err); err != nil {
		f.host.t.Fatalf("inboxtest: describe the error: %v", err)
	}
	return failed
}

func (f *fake) HTTP(request string) int32 {
	f.answer = nil
	if f.host.HTTP == nil {
		return notAllowed
	}
	var in struct {
		Method, URL string
		Headers     map[string]string
		Body        string
		BodyBase64  []byte `json:"body_base64"`
		TimeoutMS   int64  `json:"timeout_ms"`
	}
	if err := json.Unmarshal([]byte(request), &in); err != nil {
		f.host.t.Fatalf("inboxtest: read the request: %v", err)
	}
	r := &inbox.Request{Method: in.Method, URL: in.URL, Headers: in.Headers, Body: in.BodyBase64, Timeout: time.Duration(in.TimeoutMS) * time.Millisecond}
	if r.Body == nil {
		r.Body = []byte(in.Body)
	}
	var answer any
	out, err := f.host.HTTP(r)
	if err == nil {
		answer = map[string]any{"status": out.Status, "headers": out.Headers, "body_base64": out.Body}
	} else {
		failure := &inbox.HTTPError{Message: err.Error()}
		errors.As(err, &failure)
		answer = map[string]any{"message": failure.Message, "timeout": failure.Timeout}
	}
	if f.answer, err = json.Marshal(answer); err != nil {
		f.host.t.Fatalf("inboxtest: describe the response: %v", err)
	}
	if out == nil {
		return failed
	}
	return int32(len(f.answer))
}

func (f *fake) Publish(table, message string) int32 {
	f.answer = nil
	if f.host.Publish == nil {
		return notAllowed
	}
	err := f.host.Publish(table, message)
	if err == nil {
		return 0
	}
	if f.answer, err = json.Marshal(map[string]string{"message": err.Error()}); err != nil {
		f.host.t.Fatalf("inboxtest: describe the error: %v", err)
	}
	return failed
}

func (f *fake) Result(buf []byte) int32 {
	if f.answer == nil {
		return host.Absent
	}
	return copyTo(buf, f.answer)
}

const (
	badArgument int32 = -2
	notAllowed  int32 = -3
	failed      int32 = -4
)

// copyTo is how the contract hands a value over: whole or not at all, and its length.
func copyTo(buf []byte, value []byte) int32 {
	if len(value) <= len(buf) {
		copy(buf, value)
	}
	return int32(len(value))
}

func lookUp(values map[string]string, name string, buf []byte) int32 {
	value, exists := values[name]
	if !exists {
		return host.Absent
	}
	return copyTo(buf, []byte(value))
}

func (f *fake) Payload(buf []byte) int32 {
	if f.message.Payload == nil {
		return host.Absent
	}
	return copyTo(buf, f.message.Payload)
}

func (f *fake) Header(name string, buf []byte) int32 { return lookUp(f.message.Headers, name, buf) }

func (f *fake) Config(key string, buf []byte) int32 { return lookUp(f.host.config, key, buf) }

func (f *fake) Meta(buf []byte) int32 {
	m := f.message
	text, err := json.Marshal(map[string]any{
		"subscription": m.Subscription, "table": m.Table, "group": m.Group, "id": m.ID,
		"attempt": m.Attempt, "max_attempts": m.MaxAttempts, "partition_key": m.PartitionKey,
		"headers": m.Headers, "deadline_ms": f.DeadlineMs(),
	})
	if err != nil {
		f.host.t.Fatalf("inboxtest: describe the message: %v", err)
	}
	return copyTo(buf, text)
}

func (f *fake) Attempt() int32 { return int32(f.message.Attempt) }

func (f *fake) DeadlineMs() int64 {
	if f.message.TimeLeft == 0 {
		return math.MaxInt64
	}
	return f.message.TimeLeft.Milliseconds()
}

func (f *fake) SetRetryAfter(ms int64) int32 {
	f.result.Delay, f.result.HasDelay = time.Duration(ms)*time.Millisecond, true
	return 0
}

func (f *fake) Reason(text string) int32 {
	f.result.Reason = text
	return 0
}

func (f *fake) Log(level int32, text string) int32 {
	if f.LogEnabled(level) == 1 {
		f.result.Log = append(f.result.Log, Line{inbox.Level(level), text})
	}
	return 0
}

func (f *fake) LogEnabled(level int32) int32 {
	if inbox.Level(level) < f.host.LogLevel {
		return 0
	}
	return 1
}

func (f *fake) NowMs() int64 { return f.host.Now().UnixMilli() }

func (f *fake) Random(buf []byte) int32 {
	_, _ = rand.Read(buf) // never fails
	return 0
}
