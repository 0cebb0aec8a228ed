package engine

import (
	"context"
	"crypto/rand"
	"math"
	"runtime/debug"
	"time"
	"unicode/utf8"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/inbox-wasm/inbox-wasm/abi"
)

// hostFunction is one function of the contract. Its arguments come as wazero passes them, an i32 in the low
// half of a word; its result is an i32 or i64 as the contract says.
type hostFunction func(c *call, m api.Memory, args []uint64) int64

// offered are the functions that this host has today. A module that imports another one of the contract is
// refused when it loads.
var offered = map[string]hostFunction{
	"payload":     payload,
	"header":      header,
	"meta":        meta,
	"attempt":     attempt,
	"deadline_ms": deadlineMS,
	"message":     message,
	"outcome":     outcome,
	"retry_after": retryAfter,
	"reason":      reason,
	"log":         logLine,
	"log_enabled": logEnabled,
	"config":      config,
	"now_ms":      nowMS,
	"random":      random,
	"db":          db,
	"publish":     publish,
	"http":        httpRequest,
	"result":      result,
}

// instantiateHost offers the contract's functions to the modules of a runtime.
func instantiateHost(ctx context.Context, r wazero.Runtime) error {
	builder := r.NewHostModuleBuilder(abi.Module)
	for _, f := range abi.Functions() {
		impl, ok := offered[f.Name]
		if !ok {
			continue
		}
		names, types := make([]string, len(f.Params)), make([]api.ValueType, len(f.Params))
		for i, p := range f.Params {
			names[i], types[i] = p.Name, wasmType(p.Type)
		}
		builder.NewFunctionBuilder().
			WithGoModuleFunction(adapt(f, impl), types, []api.ValueType{wasmType(f.Result)}).
			WithParameterNames(names...).
			Export(f.Name)
	}
	_, err := builder.Instantiate(ctx)
	return err
}

func wasmType(t abi.ValueType) api.ValueType {
	if t == abi.I64 {
		return api.ValueTypeI64
	}
	return api.ValueTypeI32
}

// adapt makes a function of the contract one of wazero's. wazero gives the stack at least one word, for the
// result.
func adapt(f abi.Function, impl hostFunction) api.GoModuleFunc {
	narrow := f.Result == abi.I32
	return func(ctx context.Context, mod api.Module, stack []uint64) {
		c := callOf(ctx)
		c.look()
		v := int64(abi.NotAllowed)
		if c.message != nil || f.InInit {
			v = guarded(c, f.Name, impl, mod, stack)
		}
		if narrow {
			stack[0] = api.EncodeI32(int32(v))
		} else {
			stack[0] = uint64(v)
		}
	}
}

// guarded answers Failed for a panic of ours, or of the log handler behind us: a host function never breaks
// the guest.
func guarded(c *call, name string, impl hostFunction, mod api.Module, stack []uint64) (v int64) {
	defer func() {
		if p := recover(); p != nil {
			v = int64(abi.Failed)
			c.reportPanic(name, p, debug.Stack())
		}
	}()
	return impl(c, mod.Memory(), stack)
}

// payload(buf, cap: i32) -> i32
//
// Copies the message's bytes and answers their length. Absent for a payload of NULL.
func payload(c *call, m api.Memory, args []uint64) int64 {
	if c.message.Payload == nil {
		return int64(abi.Absent)
	}
	return give(m, args[0], args[1], c.message.Payload)
}

// header(name, name_len, buf, cap: i32) -> i32
//
// Copies one header, a string as it is and any other value as JSON text, and answers its length. Absent where
// there is no such header, BadArgument for a name that is not UTF-8, Failed where the headers are no JSON
// object.
func header(c *call, m api.Memory, args []uint64) int64 {
	name, errno := name(m, args[0], args[1])
	if errno != 0 {
		return int64(errno)
	}
	value, found, err := c.header(name)
	if err != nil {
		return int64(abi.Failed)
	}
	if !found {
		return int64(abi.Absent)
	}
	return give(m, args[2], args[3], value)
}

// maxName bounds what is looked for: no header and no setting has a longer name, and reading one as large as the
// memory takes longer than a deadline may be missed by.
const maxName = 64 << 10

// name reads the name of a header or a setting.
func name(m api.Memory, ptr, length uint64) ([]byte, abi.Errno) {
	name, ok := view(m, ptr, length)
	switch {
	case !ok:
		return nil, abi.BadArgument
	case len(name) > maxName:
		return nil, abi.Absent
	case !utf8.Valid(name):
		return nil, abi.BadArgument
	}
	return name, 0
}

// meta(buf, cap: i32) -> i32
//
// Copies the JSON object that describes the message and answers its length. It is built once a message:
// deadline_ms is what was left then.
func meta(c *call, m api.Memory, args []uint64) int64 {
	return give(m, args[0], args[1], c.metaJSON())
}

// attempt() -> i32
//
// Answers the delivery's attempt, at most the largest i32, and 0 where the table counts none.
func attempt(c *call, _ api.Memory, _ []uint64) int64 {
	return min(max(c.message.Attempt, 0), math.MaxInt32)
}

// deadline_ms() -> i64
//
// Answers the milliseconds left, never below 0, and the largest i64 where there is no deadline.
func deadlineMS(c *call, _ api.Memory, _ []uint64) int64 {
	left, ok := c.left()
	if !ok {
		return math.MaxInt64
	}
	return left.Milliseconds()
}

// message(i: i32) -> i32
//
// Makes message i of a batch, counted from 0, the current one: the first is when the call starts. BadArgument
// where the batch has no such message, NotAllowed outside of a batch.
func message(c *call, _ api.Memory, args []uint64) int64 {
	if c.batch == nil {
		return int64(abi.NotAllowed)
	}
	i := uint32(args[0])
	if uint64(i) >= uint64(len(c.batch)) {
		return int64(abi.BadArgument)
	}
	c.turnTo(c.batch[i], int(i))
	return 0
}

// outcome(code: i32) -> i32
//
// Sets the current message's outcome in a batch; the last call counts. BadArgument for a number that is no
// outcome, which changes nothing, NotAllowed outside of a batch.
func outcome(c *call, _ api.Memory, args []uint64) int64 {
	if c.batch == nil {
		return int64(abi.NotAllowed)
	}
	code := abi.Code(int32(uint32(args[0])))
	if !code.Known() {
		return int64(abi.BadArgument)
	}
	c.said.code, c.said.decided = code, true
	return 0
}

// retry_after(ms: i64) -> i32
//
// Sets the delay for the outcomes retry_after and snooze; the last call counts. A delay beyond 292 years is
// 292 years. BadArgument for one below 0.
func retryAfter(c *call, _ api.Memory, args []uint64) int64 {
	ms := int64(args[0])
	if ms < 0 {
		return int64(abi.BadArgument)
	}
	c.said.delay = time.Duration(min(ms, math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
	c.said.hasDelay = true
	return 0
}

// reason(ptr, len: i32) -> i32
//
// Says why; the last call counts. What is over MaxReason bytes is cut off; NUL and what is not UTF-8 become
// U+FFFD, since databases refuse both.
func reason(c *call, m api.Memory, args []uint64) int64 {
	text, ok := view(m, args[0], args[1])
	if !ok {
		return int64(abi.BadArgument)
	}
	c.said.reason = sanitise(text, MaxReason)
	return 0
}

// log(level, ptr, len: i32) -> i32
//
// Writes one line, cut off after MaxLine bytes and sanitised as a reason is. BadArgument for an unknown
// level, TooLarge once the message's room for lines is spent.
func logLine(c *call, m api.Memory, args []uint64) int64 {
	level, ok := slogLevel(args[0])
	if !ok {
		return int64(abi.BadArgument)
	}
	text, ok := view(m, args[1], args[2])
	if !ok {
		return int64(abi.BadArgument)
	}
	if !c.writeLine(level, "", text) {
		return int64(abi.TooLarge)
	}
	return 0
}

// log_enabled(level: i32) -> i32
//
// Answers 1 where a line of this level would be written, else 0. BadArgument for an unknown level.
func logEnabled(c *call, _ api.Memory, args []uint64) int64 {
	level, ok := slogLevel(args[0])
	switch {
	case !ok:
		return int64(abi.BadArgument)
	case c.log.Enabled(context.Background(), level):
		return 1
	}
	return 0
}

// config(key, key_len, buf, cap: i32) -> i32
//
// Copies one of the handler's settings and answers its length. Absent where there is none, BadArgument for a
// key that is not UTF-8.
func config(c *call, m api.Memory, args []uint64) int64 {
	key, errno := name(m, args[0], args[1])
	if errno != 0 {
		return int64(errno)
	}
	value, found := c.config[string(key)]
	if !found {
		return int64(abi.Absent)
	}
	return give(m, args[2], args[3], value)
}

// now_ms() -> i64
//
// Answers the milliseconds since 1970 by the host's clock.
func nowMS(*call, api.Memory, []uint64) int64 { return time.Now().UnixMilli() }

// random(ptr, len: i32) -> i32
//
// Fills memory with random bytes. DeadlinePassed where the deadline comes before the end of a large request.
func random(c *call, m api.Memory, args []uint64) int64 {
	buf, ok := view(m, args[0], args[1])
	if !ok {
		return int64(abi.BadArgument)
	}
	for len(buf) > 0 {
		n, err := randomSource{c}.Read(buf)
		if err != nil {
			return int64(abi.DeadlinePassed)
		}
		buf = buf[n:]
	}
	return 0
}

// randomSource gives random bytes in pieces small enough to look at the deadline in between: a gigabyte
// takes seconds. It never fails otherwise, as crypto/rand does not.
type randomSource struct{ call *call }

func (s randomSource) Read(b []byte) (int, error) {
	if err := s.call.Err(); err != nil {
		return 0, err
	}
	return rand.Read(b[:min(len(b), 1<<20)])
}
