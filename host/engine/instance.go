package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/sys"

	"github.com/inbox-wasm/inbox-wasm/abi"
	"github.com/inbox-wasm/inbox-wasm/host/engine/meter"
)

// DefaultInitTimeout bounds an instance's start where the settings do not.
const DefaultInitTimeout = 30 * time.Second

// Settings of an instance.
type Settings struct {
	Config      map[string]string // what the config function answers; not changed while the instance lives
	Env         [][2]string       // names and values of its environment
	Mounts      []*Mount          // what it sees of files
	HTTP        Requests          // sends its requests; nil where its handler allows none
	MayPublish  int               // how many rows a message may publish
	Log         *slog.Logger      // takes the guest's lines, and says whose they are; nil discards them
	LogLimit    int64             // bytes of log lines a message; 0 is LogBudget
	InitTimeout time.Duration     // for _initialize and inbox_init together; 0 is DefaultInitTimeout
}

// Instance is one memory with its state. It belongs to one goroutine at a time, and must be closed.
type Instance struct {
	module  *Module
	call    *call
	mod     api.Module
	single  api.Function // nil where the module does not export it
	batch   api.Function // nil where the module does not export it
	counter api.Global   // what is left of the meter's ticks
	stack   [1]uint64    // the argument, if any, and the result of the exports that the engine calls
	broken  string       // why it cannot be called any more
	closed  bool
}

// InitError is an instance that did not come to be.
type InitError struct {
	Path    string
	Step    string // "_initialize", "inbox_init", or "start" for the module's start section
	Failure Failure
	Code    int32  // what inbox_init returned, where Failure is None
	Reason  string // the cause and the guest's own reason
	err     error
}

func (e *InitError) Error() string { return "start module " + e.Path + ": " + e.Step + ": " + e.Reason }

// Unwrap gives the context's error where the start was interrupted or took too long.
func (e *InitError) Unwrap() error { return e.err }

// NewInstance makes an instance and initialises it: the start section, _initialize and inbox_init, each where
// the module has it. That of a command is made for each message, and this is where it is made. A guest that refuses, fails or takes too long gives an [*InitError].
func (m *Module) NewInstance(ctx context.Context, s Settings) (*Instance, error) {
	if err := m.retain(); err != nil {
		return nil, fmt.Errorf("start module %s: %w", m.info.Path, err)
	}
	i := &Instance{module: m, call: newCall(s, m.limit)}
	timeout := s.InitTimeout
	if timeout <= 0 {
		timeout = DefaultInitTimeout
	}
	if m.code.exports.command {
		return i, ctx.Err()
	}
	if err := i.start(ctx, timeout); err != nil {
		_ = i.Close(context.WithoutCancel(ctx)) // the failed start says more
		return nil, err
	}
	return i, nil
}

// start runs everything that comes before the first message.
func (i *Instance) start(ctx context.Context, timeout time.Duration) error {
	c := i.call
	began := time.Now()
	c.reset(nil)
	c.restartTicks(began)
	defer c.flush()
	fail := func(step string, r Result, cause error) error {
		return &InitError{Path: i.module.info.Path, Step: step, Failure: r.Failure, Reason: r.Reason, err: cause}
	}
	if err := c.begin(ctx, began, timeout); err != nil {
		return fail("start", failed(Interrupted, "interrupted", ""), err)
	}
	step, err := i.initialise()
	cause := c.end()
	if failure, what := i.failure(err, cause); failure != None {
		return fail(step, failed(failure, what, c.said.reason), cause)
	}
	if cause != nil {
		return fail(step, failed(Interrupted, "interrupted", c.said.reason), cause)
	}
	if code := int32(uint32(i.stack[0])); i.module.code.exports.init && code != 0 {
		return &InitError{Path: i.module.info.Path, Step: abi.ExportInit, Code: code,
			Reason: failed(None, fmt.Sprintf("refused with code %d", code), c.said.reason).Reason}
	}
	return nil
}

// initialise instantiates and calls the start functions, and says which step failed.
func (i *Instance) initialise() (step string, err error) {
	step = "start"
	if err := i.instantiate(); err != nil {
		return step, err
	}
	i.counter = i.mod.ExportedGlobal(meter.Counter)
	i.single = i.mod.ExportedFunction(abi.ExportHandle)
	i.batch = i.mod.ExportedFunction(abi.ExportHandleBatch)
	exports := i.module.code.exports
	if exports.initialize {
		step = abi.ExportInitialize
		err = i.invoke(i.mod.ExportedFunction(step))
	}
	if exports.init && err == nil {
		step = abi.ExportInit
		err = i.invoke(i.mod.ExportedFunction(step))
	}
	return step, err
}

func (i *Instance) instantiate() (err error) {
	defer recoverTo(&err)
	ctx := experimental.WithMemoryAllocator(i.call, &i.call.memory)
	i.mod, err = i.module.code.runtime.InstantiateModule(ctx, i.module.code.compiled, moduleConfig(i.call))
	return err
}

// invoke calls an export with the argument, if it takes one, in stack[0]; its result, if any, is there afterwards.
func (i *Instance) invoke(f api.Function) (err error) {
	defer recoverTo(&err)
	return f.CallWithStack(i.call, i.stack[:])
}

// recoverTo turns a panic that wazero did not catch into an error.
func recoverTo(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("the engine panicked: %v", p)
	}
}

// Handle calls the guest with one message. It never panics, and every failure is in the result.
func (i *Instance) Handle(ctx context.Context, m *Message) Result {
	start := time.Now()
	if why := i.unusable(i.single, abi.ExportHandle); why != "" {
		return failed(Trap, why, "")
	}
	if i.module.code.exports.command {
		return i.command(ctx, m)
	}
	i.call.reset(m)
	e := i.run(ctx, start, i.single, m.Timeout)
	return i.result(&e, abi.ExportHandle, &i.call.spoken[0])
}

// HandleBatch calls the guest once with several messages and appends the result of each to results, whose room
// it uses. Like Handle it never panics. Whatever becomes of the call, a message whose outcome the guest has set
// has that outcome; the others have what the guest returned, or the call's failure.
func (i *Instance) HandleBatch(ctx context.Context, messages []*Message, results []Result) []Result {
	start := time.Now()
	if len(messages) == 0 {
		return results
	}
	if why := i.unusable(i.batch, abi.ExportHandleBatch); why != "" {
		for range messages {
			results = append(results, failed(Trap, why, ""))
		}
		return results
	}
	i.call.resetBatch(messages)
	i.stack[0] = uint64(len(messages))
	e := i.run(ctx, start, i.batch, messages[0].Timeout)
	for n := range messages {
		results = append(results, i.result(&e, abi.ExportHandleBatch, &i.call.spoken[n]))
	}
	i.call.batch = nil
	return results
}

// ended is how a call ended, for all of its messages.
type ended struct {
	failure  Failure
	what     string   // of a failure
	code     abi.Code // what the guest returned, where it did
	reusable bool
	memory   int64
	ticks    int64
	start    time.Time
	elapsed  time.Duration
}

// run calls the guest, which the call was reset for.
func (i *Instance) run(ctx context.Context, start time.Time, f api.Function, timeout time.Duration) ended {
	c := i.call
	if err := c.begin(ctx, start, timeout); err != nil {
		return ended{failure: Interrupted, what: "interrupted before the call", reusable: c.Err() == nil, memory: c.memory.size()}
	}
	ticks := i.startTicks(start)
	err := i.invoke(f)
	cause := c.end()

	e := ended{ticks: i.ticksSince(ticks), start: start}
	if e.failure, e.what = i.failure(err, cause); e.failure != None {
		i.broken = e.failure.String() + ": " + failed(e.failure, e.what, c.said.reason).Reason
	} else {
		e.code = abi.Code(int32(uint32(i.stack[0])))
		e.reusable = cause == nil && !c.memory.refused
	}
	c.flush()
	e.memory = c.memory.peak()
	e.elapsed = time.Since(start)
	return e
}

// result is what a call came to for one of its messages.
func (i *Instance) result(e *ended, export string, s *said) Result {
	var r Result
	switch {
	case s.decided:
		r = s.outcome(s.code)
	case e.failure != None:
		r = failed(e.failure, e.what, s.reason)
	case !e.code.Known():
		r = failed(BadOutcome, fmt.Sprintf("%s returned %d, which is no outcome", export, int32(e.code)), s.reason)
		r.Code = e.code
	default:
		r = s.outcome(e.code)
	}
	r.Call, r.Reusable, r.Memory, r.Ticks, r.Start, r.Elapsed = e.failure, e.reusable, e.memory, e.ticks, e.start, e.elapsed
	return r
}

// outcome is the result of a message that has one.
func (s *said) outcome(code abi.Code) Result {
	r := Result{Code: code, Reason: s.reason}
	if code == abi.RetryAfter || code == abi.Snooze {
		r.Delay, r.HasDelay = s.delay, s.hasDelay
	}
	return r
}

// failure tells how a call ended that returned err, and whose leash was pulled for cause. A guest that
// returned just as the caller's context was done has an outcome; past its deadline it has none.
func (i *Instance) failure(err, cause error) (failure Failure, what string) {
	if err == nil && (cause == nil || cause == context.Canceled) {
		return None, ""
	}
	var exit *sys.ExitError
	isExit := errors.As(err, &exit)
	pulled := err == nil || isExit && cause != nil && exit.ExitCode() == exitCodeOf(cause)
	switch {
	case pulled && cause == context.DeadlineExceeded:
		return Timeout, "the deadline passed"
	case pulled:
		return Interrupted, "interrupted"
	case isExit:
		return Exit, fmt.Sprintf("proc_exit(%d)", exit.ExitCode())
	}
	what = firstLine(err.Error())
	if errors.Is(err, errDeep) {
		what = errDeep.Error()
	}
	if i.call.memory.refused {
		what += " (memory was refused at its limit of " + size(i.call.memory.limit) + ")"
	}
	return Trap, what
}

// unusable says why an export cannot be called, and is empty where it can.
func (i *Instance) unusable(f api.Function, export string) string {
	const cannot = "the instance cannot be used: "
	switch {
	case i.closed:
		return cannot + "it is closed"
	case i.broken != "":
		return cannot + i.broken
	case i.call.Err() != nil:
		return cannot + "its last call was ended from outside"
	case i.mod != nil && i.mod.IsClosed():
		return cannot + "its engine was closed"
	case f == nil && !(i.module.code.exports.command && export == abi.ExportHandle):
		return "the module exports no " + export
	}
	return ""
}

// Memory is the size of the instance's linear memory in bytes, 0 after Close.
func (i *Instance) Memory() int64 { return i.call.memory.size() }

// Close frees the instance and everything that it holds on to. Closing twice is harmless.
func (i *Instance) Close(ctx context.Context) error {
	if i.closed {
		return nil
	}
	i.closed = true
	i.call.unwatch()
	var err error
	if i.mod != nil {
		err = i.mod.Close(ctx)
	}
	// wazero frees the memory in Close, but not where a deadline closed the module before.
	i.call.memory.Free()
	return errors.Join(err, i.module.engine.release(ctx, i.module.code, i.module.hash, true))
}
