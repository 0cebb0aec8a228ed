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
)

// DefaultInitTimeout bounds an instance's start where the settings do not.
const DefaultInitTimeout = 30 * time.Second

// Settings of an instance.
type Settings struct {
	Config      map[string]string // what the config function answers; not changed while the instance lives
	Log         *slog.Logger      // takes the guest's lines; nil discards them
	InitTimeout time.Duration     // for _initialize and inbox_init together; 0 is DefaultInitTimeout
}

// Instance is one memory with its state. It belongs to one goroutine at a time, and must be closed.
type Instance struct {
	module *Module
	call   *call
	mod    api.Module
	handle api.Function
	stack  [1]uint64 // the result of the exports that the engine calls
	broken string    // why it cannot be called any more
	closed bool
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
// the module has it. A guest that refuses, fails or takes too long gives an [*InitError].
func (m *Module) NewInstance(ctx context.Context, s Settings) (*Instance, error) {
	if err := m.retain(); err != nil {
		return nil, fmt.Errorf("start module %s: %w", m.info.Path, err)
	}
	i := &Instance{module: m, call: newCall(s, m.limit)}
	timeout := s.InitTimeout
	if timeout <= 0 {
		timeout = DefaultInitTimeout
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
	c.reset(nil)
	defer c.flush()
	fail := func(step string, r Result, cause error) error {
		return &InitError{Path: i.module.info.Path, Step: step, Failure: r.Failure, Reason: r.Reason, err: cause}
	}
	if err := c.begin(ctx, time.Now(), timeout); err != nil {
		return fail("start", failed(Interrupted, "interrupted", ""), err)
	}
	step, err := i.initialise()
	cause := c.end()
	if r, ok := i.failure(err, cause); ok {
		return fail(step, r, cause)
	}
	if cause != nil {
		return fail(step, failed(Interrupted, "interrupted", c.reason), cause)
	}
	if code := int32(uint32(i.stack[0])); i.module.code.exports.init && code != 0 {
		return &InitError{Path: i.module.info.Path, Step: abi.ExportInit, Code: code,
			Reason: failed(None, fmt.Sprintf("refused with code %d", code), c.reason).Reason}
	}
	return nil
}

// initialise instantiates and calls the start functions, and says which step failed.
func (i *Instance) initialise() (step string, err error) {
	step = "start"
	if err := i.instantiate(); err != nil {
		return step, err
	}
	i.handle = i.mod.ExportedFunction(abi.ExportHandle)
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

// invoke calls an export without parameters; its result, if any, is in stack[0].
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
	if why := i.unusable(); why != "" {
		return failed(Trap, "the instance cannot be used: "+why, "")
	}
	c := i.call
	c.reset(m)
	if err := c.begin(ctx, start, m.Timeout); err != nil {
		early := failed(Interrupted, "interrupted before the call", "")
		early.Reusable = c.Err() == nil
		early.Memory = c.memory.size()
		return early
	}
	err := i.invoke(i.handle)
	cause := c.end()

	r, isFailure := i.failure(err, cause)
	if isFailure {
		i.broken = r.Failure.String() + ": " + r.Reason
	} else {
		r = i.outcome(abi.Code(int32(uint32(i.stack[0]))))
		r.Reusable = cause == nil && !c.memory.refused
	}
	c.flush()
	r.Memory = c.memory.size()
	r.Elapsed = time.Since(start)
	return r
}

// outcome reads what the guest returned.
func (i *Instance) outcome(code abi.Code) Result {
	if !code.Known() {
		r := failed(BadOutcome, fmt.Sprintf("%s returned %d, which is no outcome", abi.ExportHandle, int32(code)), i.call.reason)
		r.Code = code
		return r
	}
	r := Result{Code: code, Reason: i.call.reason}
	if code == abi.RetryAfter || code == abi.Snooze {
		r.Delay, r.HasDelay = i.call.delay, i.call.hasDelay
	}
	return r
}

// failure tells how a call ended that returned err, and whose leash was pulled for cause. A guest that
// returned just as the caller's context was done has an outcome; past its deadline it has none.
func (i *Instance) failure(err, cause error) (Result, bool) {
	if err == nil && (cause == nil || cause == context.Canceled) {
		return Result{}, false
	}
	var exit *sys.ExitError
	isExit := errors.As(err, &exit)
	ended := err == nil || isExit && cause != nil && exit.ExitCode() == exitCodeOf(cause)
	switch {
	case ended && cause == context.DeadlineExceeded:
		return failed(Timeout, "the deadline passed", i.call.reason), true
	case ended:
		return failed(Interrupted, "interrupted", i.call.reason), true
	case isExit:
		return failed(Exit, fmt.Sprintf("proc_exit(%d)", exit.ExitCode()), i.call.reason), true
	}
	what := firstLine(err.Error())
	if i.call.memory.refused {
		what += " (memory was refused at its limit of " + size(i.call.memory.limit) + ")"
	}
	return failed(Trap, what, i.call.reason), true
}

func (i *Instance) unusable() string {
	switch {
	case i.closed:
		return "it is closed"
	case i.broken != "":
		return i.broken
	case i.call.Err() != nil:
		return "its last call was ended from outside"
	case i.mod.IsClosed():
		return "its engine was closed"
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
