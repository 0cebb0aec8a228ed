package engine

import (
	"bytes"
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/sys"

	"github.com/inbox-wasm/inbox-wasm/abi"
	"github.com/inbox-wasm/inbox-wasm/host/engine/meter"
)

// The exit codes of a command that are outcomes (sysexits.h); every other is a failure.
const (
	exitOK       = 0
	exitTempFail = 75 // EX_TEMPFAIL: again, after the backoff
	exitDataErr  = 65 // EX_DATAERR: a dead letter
)

// command runs a program once for a message: a fresh instance with the payload on standard input, what is known of
// the message in its environment, and its outcome in the exit code. It gets no arguments but its name.
func (i *Instance) command(ctx context.Context, m *Message) Result {
	start := time.Now()
	c := i.call
	c.reset(m)
	c.err.keep, c.err.end = true, c.err.end[:0]
	if err := c.begin(ctx, start, m.Timeout); err != nil {
		return failed(Interrupted, "interrupted before the call", "")
	}
	c.restartTicks(start)
	err := i.program(m)
	cause := c.end()
	c.flush()

	var r Result
	said := sanitise(bytes.TrimSpace(c.err.end), MaxReason)
	code := exitCode(err)
	failure, what := i.failure(err, cause)
	switch {
	case failure == Exit && code == exitTempFail:
		r = Result{Code: abi.RetryAfter, Reason: said}
	case failure == Exit && code == exitDataErr:
		r = Result{Code: abi.DeadLetter, Reason: said}
	case failure == None, failure == Exit && code == exitOK:
		r = Result{Code: abi.Ack}
	case failure == Exit:
		r = failed(Exit, "exit code "+strconv.FormatUint(uint64(code), 10), said)
	default:
		r = failed(failure, what, said)
	}
	r.Memory, r.Ticks = c.memory.peak(), c.ticks
	r.Start, r.Elapsed = start, time.Since(start)
	if r.Reusable = c.Err() == nil; !r.Reusable {
		i.broken = failure.String() + ": " + r.Reason
	}
	return r
}

// program instantiates the module, runs _start and closes it again.
func (i *Instance) program(m *Message) (err error) {
	defer recoverTo(&err)
	c := i.call
	c.memory = linearMemory{limit: c.memory.limit}
	ctx := experimental.WithMemoryAllocator(c, &c.memory)
	mod, err := i.module.code.runtime.InstantiateModule(ctx, i.module.code.compiled, commandConfig(c, m))
	if err != nil {
		return err
	}
	counter := mod.ExportedGlobal(meter.Counter)
	defer func() {
		c.ticks += meter.Interval - int64(int32(uint32(counter.Get())))
		err = errors.Join(err, mod.Close(context.WithoutCancel(c)))
	}()
	_, err = mod.ExportedFunction(abi.ExportStart).Call(c)
	return err
}

// commandConfig is what a command sees of the world, beside what a reactor does.
func commandConfig(c *call, m *Message) wazero.ModuleConfig {
	config := moduleConfig(c).WithArgs(m.Subscription).WithStdin(bytes.NewReader(m.Payload))
	headers := m.Headers
	if headers == nil {
		headers = []byte("{}")
	}
	for _, v := range [][2]string{{"INBOX_ID", plainID(m.ID)}, {"INBOX_TABLE", m.Table}, {"INBOX_GROUP", m.Group},
		{"INBOX_ATTEMPT", strconv.FormatInt(m.Attempt, 10)}, {"INBOX_HEADERS", string(headers)}} {
		// An environment holds no NUL; a text of the database might.
		config = config.WithEnv(v[0], sanitise([]byte(v[1]), len(v[1])))
	}
	return config
}

// plainID is an id without the quotes that a text has in JSON; a composite one stays JSON.
func plainID(id []byte) string {
	if len(id) > 1 && id[0] == '"' {
		if text, err := strconv.Unquote(string(id)); err == nil {
			return text
		}
	}
	return string(id)
}

// exitCode is that of an error, exitOK where it is none of an exit.
func exitCode(err error) uint32 {
	var exit *sys.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	return exitOK
}
