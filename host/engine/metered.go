package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/sys"

	"github.com/inbox-wasm/inbox-wasm/host/engine/meter"
)

// features are what a module may use: WebAssembly 2.0, and what wazero has beside it that the meter knows.
const features = api.CoreFeaturesV2 | experimental.CoreFeaturesTailCall | experimental.CoreFeaturesExtendedConst

// errDeep ends a guest whose calls go too deep, long before the host's own stack would.
var errDeep = errors.New("the calls of the guest go too deep")

// instantiateMeter offers what a rewritten module asks.
func instantiateMeter(ctx context.Context, r wazero.Runtime) error {
	builder := r.NewHostModuleBuilder(meter.Module)
	for name, f := range map[string]api.GoModuleFunc{
		meter.Spent: func(ctx context.Context, m api.Module, _ []uint64) { callOf(ctx).spent(m) },
		meter.Deep:  func(context.Context, api.Module, []uint64) { panic(errDeep) },
	} {
		builder.NewFunctionBuilder().WithGoModuleFunction(f, nil, nil).Export(name)
	}
	_, err := builder.Instantiate(ctx)
	return err
}

// Guests are to look up every lookEvery. One whose ticks take longer, because each waits for memory, gets fewer of
// them at a time, down to fewestTicks.
const (
	lookEvery   = 500 * time.Microsecond
	fewestTicks = 1000
)

// spent is where a guest that runs looks up. The clock is read, since the timer may wait for the processor that
// this guest has.
func (c *call) spent(m api.Module) {
	c.ticks += meter.Interval
	now := time.Now()
	if !c.deadline.IsZero() && !now.Before(c.deadline) {
		c.expire()
	}
	c.look()
	c.pace(now)
	if c.portion < meter.Interval {
		counter := m.ExportedGlobal(meter.Counter).(api.MutableGlobal)
		left := int64(int32(uint32(counter.Get())))
		// Not below zero, where the guest would ask at each step and the counter fall on.
		taken := max(0, min(left, meter.Interval-c.portion))
		counter.Set(uint64(uint32(left - taken)))
		c.ticks -= taken
	}
}

// pace says how many ticks the guest gets until it looks up next.
func (c *call) pace(now time.Time) {
	if took := now.Sub(c.looked); took > lookEvery {
		c.portion = max(fewestTicks, int64(float64(c.portion)*float64(lookEvery)/float64(took)))
	} else {
		c.portion = min(meter.Interval, 2*c.portion)
	}
	c.looked = now
}

// look ends the guest where its deadline has passed or it was interrupted. wazero does not look itself.
func (c *call) look() {
	if c.pulled.Load() {
		panic(sys.NewExitError(exitCodeOf(c.Err())))
	}
}

// restartTicks begins to count the ticks of a call.
func (c *call) restartTicks(start time.Time) { c.ticks, c.looked, c.portion = 0, start, meter.Interval }

// startTicks and ticksSince count the ticks of a call, by the counter of the instance.
func (i *Instance) startTicks(start time.Time) int32 {
	i.call.restartTicks(start)
	return int32(uint32(i.counter.Get()))
}

func (i *Instance) ticksSince(start int32) int64 {
	return i.call.ticks + int64(start) - int64(int32(uint32(i.counter.Get())))
}

// validate refuses a module that is not valid as it is: what is added to it must not make it so.
// wazero's interpreter compiles a module in a fraction of the time that machine code takes. What was valid once is
// remembered in the cache.
func (e *Engine) validate(ctx context.Context, path string, wasm []byte, hash contentHash, cacheDir string) error {
	known := ""
	if cacheDir != "" {
		known = filepath.Join(cacheDir, fmt.Sprintf("valid-%x-%s", hash, engineVersion()))
		if _, err := os.Stat(known); err == nil {
			return nil
		}
	}
	bare, err := meter.Bare(wasm)
	if err == nil {
		r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter().WithCoreFeatures(features))
		_, err = compileModule(ctx, r, bare)
		err = errors.Join(err, r.Close(ctx))
	}
	if err != nil {
		return notValid(path, err)
	}
	if known == "" {
		return nil
	}
	if err := os.WriteFile(known, nil, 0o600); err != nil {
		return fmt.Errorf("write to the compilation cache: %w", err)
	}
	return nil
}

func notValid(path string, err error) error {
	return &LoadError{Path: path, What: "is not a valid WebAssembly module: " + firstLine(err.Error()),
		Remedy: "build it for WebAssembly 2.0 without threads, exceptions or 64-bit memory"}
}

// engineVersion is wazero's version: another one may judge otherwise.
func engineVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == "github.com/tetratelabs/wazero" {
				return m.Version
			}
		}
	}
	return "unknown"
}
