package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
	"github.com/tetratelabs/wazero/sys"

	"github.com/inbox-wasm/inbox-wasm/abi"
)

// instantiateWASI offers WASI preview 1, after refusing by name what wazero's lacks: it would fail at the
// first instance otherwise, long after the start.
func instantiateWASI(ctx context.Context, r wazero.Runtime, path string, p *parsed) error {
	compiled, err := wasi_snapshot_preview1.NewBuilder(r).Compile(ctx)
	if err != nil {
		return fmt.Errorf("load module %s: offer WASI: %w", path, err)
	}
	has := compiled.ExportedFunctions()
	for _, i := range p.imports {
		if i.module != wasiModule {
			continue
		}
		f, ok := has[i.name]
		if !ok {
			return &LoadError{Path: path, What: "imports " + i.module + "." + i.name + ", which WASI preview 1 does not have here",
				Remedy: "build it without that import"}
		}
		got, ok := p.typeAt(i.typ)
		if want := definedType(f); !ok || got.String() != want {
			return &LoadError{Path: path, What: fmt.Sprintf("imports %s.%s as %s, and it is %s", i.module, i.name, got, want),
				Remedy: "build it for WASI preview 1"}
		}
	}
	_, err = r.InstantiateModule(ctx, compiled, wazero.NewModuleConfig().WithName(wasiModule))
	return err
}

func definedType(f api.FunctionDefinition) string {
	types := func(in []api.ValueType) []abi.ValueType {
		out := make([]abi.ValueType, len(in))
		for i, t := range in {
			out[i] = abi.ValueType(api.ValueTypeName(t))
		}
		return out
	}
	return funcType{types(f.ParamTypes()), types(f.ResultTypes())}.String()
}

// moduleConfig is what an instance sees of the world: real clocks, real randomness, sleeps that end with the
// deadline, its output in the log, and of the environment and of files what its handler allows. No arguments, no
// sockets.
func moduleConfig(c *call) wazero.ModuleConfig {
	config := wazero.NewModuleConfig().
		WithName("").         // any number of instances
		WithStartFunctions(). // called by the instance itself, which tells an exit with code 0 from a success
		WithStdout(&c.out).
		WithStderr(&c.err).
		WithRandSource(randomSource{c}).
		WithSysWalltime().
		WithSysNanotime().
		WithNanosleep(c.sleep)
	for _, v := range c.env {
		config = config.WithEnv(v[0], v[1])
	}
	if c.files != nil {
		config = config.WithFSConfig(c.files)
	}
	return config
}

// sleep ends at the deadline or an interruption, and the guest with it: wazero does not interrupt a sleeping
// guest itself.
func (c *call) sleep(ns int64) {
	if ns <= 0 {
		return
	}
	if c.sleeper == nil {
		c.sleeper = time.NewTimer(time.Duration(ns))
	} else {
		c.sleeper.Reset(time.Duration(ns))
	}
	select {
	case <-c.sleeper.C:
	case <-c.done:
		c.sleeper.Stop()
		panic(sys.NewExitError(exitCodeOf(c.Err())))
	}
}

// exitCodeOf is the code that wazero itself ends a guest with for a context's error.
func exitCodeOf(err error) uint32 {
	if errors.Is(err, context.DeadlineExceeded) {
		return sys.ExitCodeDeadlineExceeded
	}
	return sys.ExitCodeContextCanceled
}
