package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"time"

	"github.com/tetratelabs/wazero"

	"github.com/inbox-wasm/inbox-wasm/abi"
)

// call is what the host functions of one instance work on: its settings, and the message that is being
// handled. It is also the context that wazero hands from Handle to the host functions, which is the shortest
// way from a guest's call to its instance: a type assertion, without a lookup or an allocation.
type call struct {
	leash

	config map[string]string
	env    [][2]string
	files  wazero.FSConfig // nil for none
	http   Requests

	mayPublish int // rows a message
	published  int // in this call
	log        *slog.Logger
	memory     linearMemory
	out        stream
	err        stream

	message *Message // the current one; nil while the instance initialises
	said    *said    // about the current message

	batch  []*Message // all messages of a batch, nil in a call about a single one
	spoken []said     // about each message of the call; kept for the next one

	// Built on first use, for the current message.
	headers     map[string][]byte
	headersRead bool
	headersErr  error
	meta        []byte

	result []byte // the last one of a function with a side effect, nil where there is none

	ticks   int64 // that the call has been given, beside what its counter held
	portion int64 // of ticks, until the guest looks up again
	looked  time.Time
	limit   int64 // of log bytes a message
	budget  int64 // of log bytes left
	dropped int64 // log lines over the budget

	sleeper *time.Timer
}

// said is what the guest has said about a message.
type said struct {
	delay    time.Duration
	hasDelay bool
	reason   string
	code     abi.Code // its own outcome, where decided
	decided  bool
}

type callKey struct{}

// Value implements context.Context. Nothing of the caller's context reaches a guest.
func (c *call) Value(key any) any {
	if _, ok := key.(callKey); ok {
		return c
	}
	return nil
}

// callOf finds the instance's call behind the context of a host function.
func callOf(ctx context.Context) *call {
	if c, ok := ctx.(*call); ok {
		return c
	}
	// A module's start section runs under a context that wraps the call.
	return ctx.Value(callKey{}).(*call)
}

func newCall(s Settings, limit uint64) *call {
	c := &call{config: s.Config, env: s.Env, files: mounts(s.Mounts), http: s.HTTP, mayPublish: s.MayPublish, limit: cmp.Or(s.LogLimit, LogBudget), log: orDiscard(s.Log), memory: linearMemory{limit: limit}}
	c.done = make(chan struct{})
	c.out = stream{call: c, name: "stdout", level: slog.LevelInfo}
	c.err = stream{call: c, name: "stderr", level: slog.LevelWarn}
	return c
}

// reset forgets the last call and starts one about m, or about none.
func (c *call) reset(m *Message) { c.restart(m, nil, 1) }

// resetBatch forgets the last call and starts one about a batch, with its first message as the current one.
func (c *call) resetBatch(batch []*Message) { c.restart(batch[0], batch, len(batch)) }

func (c *call) restart(m *Message, batch []*Message, n int) {
	clear(c.spoken)
	c.spoken = slices.Grow(c.spoken[:0], n)[:n]
	c.batch = batch
	c.turnTo(m, 0)
	c.result = nil
	c.published = 0
	c.budget, c.dropped = c.limit*int64(n), 0
}

// turnTo makes m, the i-th message of the call, the current one.
func (c *call) turnTo(m *Message, i int) {
	c.message, c.said = m, &c.spoken[i]
	if c.headersRead {
		clear(c.headers)
		c.headersRead, c.headersErr = false, nil
	}
	c.meta = keepSmall(c.meta)
}

// keepSmall empties a buffer for its next use, unless one large message made it too large to keep.
func keepSmall(b []byte) []byte {
	if cap(b) > 64<<10 {
		return nil
	}
	return b[:0]
}

// header finds a header of the current message, reading them all on first use.
func (c *call) header(name []byte) (value []byte, found bool, err error) {
	if !c.headersRead {
		c.headersRead = true
		c.headersErr = c.readHeaders()
	}
	value, found = c.headers[string(name)]
	return value, found, c.headersErr
}

func (c *call) readHeaders() error {
	if len(c.message.Headers) == 0 {
		return nil
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(c.message.Headers, &raw); err != nil {
		return err
	}
	if c.headers == nil {
		c.headers = make(map[string][]byte, len(raw))
	}
	for name, value := range raw {
		if value[0] == '"' {
			var text string
			if err := json.Unmarshal(value, &text); err != nil {
				return err
			}
			c.headers[name] = []byte(text)
			continue
		}
		c.headers[name] = value
	}
	return nil
}
