package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"

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
		meter.Spent: func(ctx context.Context, _ api.Module, _ []uint64) { callOf(ctx).spent() },
		meter.Deep:  func(context.Context, api.Module, []uint64) { panic(errDeep) },
	} {
		builder.NewFunctionBuilder().WithGoModuleFunction(f, nil, nil).Export(name)
	}
	_, err := builder.Instantiate(ctx)
	return err
}

// spent is where a guest that runs looks up. The clock is read, since the timer may wait for the processor that
// this guest has.
func (c *call) spent() {
	c.ticks += meter.Interval
	if left, bounded := c.left(); bounded && left == 0 {
		c.expire()
	}
	c.look()
}

// look ends the guest where its deadline has passed or it was interrupted. wazero does not look itself.
func (c *call) look() {
	if c.pulled.Load() {
		panic(sys.NewExitError(exitCodeOf(c.Err())))
	}
}

// startTicks and ticksSince count the ticks of a call, by the counter of the instance.
func (i *Instance) startTicks() int32 {
	i.call.ticks = 0
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
