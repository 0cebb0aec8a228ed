package engine

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/inbox-wasm/inbox-wasm/host/engine/meter"
)

type contentHash [sha256.Size]byte

// code is the compiled form of one file content, in a wazero runtime of its own.
//
// A runtime of its own, with its own engine and cache object, is what keeps handlers apart: within one
// runtime, or one shared cache, closing a compiled module breaks another with the same bytes (wazero#2336)
// and closing while another compiles can fail (wazero#2459). Equal bytes share one code and a count of its
// users instead, so that neither can happen. The memory limit is no reason for a second one: it is kept per
// instance, by [linearMemory].
type code struct {
	runtime  wazero.Runtime
	cache    wazero.CompilationCache
	compiled wazero.CompiledModule
	info     Info
	exports  exports

	built chan struct{} // closed when the fields above, or err, are set
	err   error

	// Guarded by Engine.mu.
	users     int // modules and instances
	instances int
}

// acquire returns the code of these bytes, compiled by the first who asks, and counts the caller as a user.
func (e *Engine) acquire(ctx context.Context, path string, wasm []byte, hash contentHash, parsed *parsed) (*code, error) {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return nil, errEngineClosed
	}
	c, found := e.code[hash]
	if !found {
		c = &code{built: make(chan struct{})}
		c.info.Path = path
		e.code[hash] = c
	}
	c.users++
	e.mu.Unlock()

	if !found {
		// Others may wait for this, so that one caller's cancellation must not fail it.
		c.err = e.build(context.WithoutCancel(ctx), c, path, wasm, parsed)
		close(c.built)
	}
	<-c.built // a compilation cannot be interrupted, and ends within seconds
	if c.err != nil {
		_ = e.release(ctx, c, hash, false)
		return nil, c.err
	}
	return c, nil
}

// release gives up one use; the last one closes the code.
func (e *Engine) release(ctx context.Context, c *code, hash contentHash, instance bool) error {
	e.mu.Lock()
	c.users--
	if instance {
		c.instances--
	}
	last := c.users == 0
	if last && e.code[hash] == c {
		delete(e.code, hash)
	}
	e.mu.Unlock()
	if !last {
		return nil
	}
	return c.close(ctx)
}

// retainInstance counts an instance of code that its module already uses.
func (e *Engine) retainInstance(c *code) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return errEngineClosed
	}
	c.users++
	c.instances++
	return nil
}

// close is safe to repeat: Engine.Close may come before the last release.
func (c *code) close(ctx context.Context) error {
	<-c.built
	var errs []error
	if c.runtime != nil {
		errs = append(errs, c.runtime.Close(ctx))
	}
	if c.cache != nil {
		errs = append(errs, c.cache.Close(ctx))
	}
	return errors.Join(errs...)
}

func (e *Engine) build(ctx context.Context, c *code, path string, wasm []byte, parsed *parsed) error {
	start := time.Now()
	hash := contentHash(sha256.Sum256(wasm))
	err := e.compile(ctx, c, path, wasm, hash, parsed, e.cacheDir)
	if err != nil && e.cacheDir != "" {
		// A damaged cache entry must not keep a good module from loading. A bad module fails again.
		again := e.compile(ctx, c, path, wasm, hash, parsed, "")
		if again == nil {
			e.log.Warn("compiled without the cache", "module", path, "cache", e.cacheDir, "error", err)
		}
		err = again
	}
	if err != nil {
		return err
	}
	c.exports = parsed.exports()
	c.info = parsed.info(path, hash, len(wasm), time.Since(start))
	return nil
}

func (e *Engine) compile(ctx context.Context, c *code, path string, wasm []byte, hash contentHash, parsed *parsed, cacheDir string) (err error) {
	// The rewriting reads all of it, and trusts no count; wazero makes room for what a module claims to hold.
	metered, err := meter.Rewrite(boundTables(wasm, parsed.tables))
	if err != nil {
		return notValid(path, err)
	}
	if err := e.validate(ctx, path, wasm, hash, cacheDir); err != nil {
		return err
	}
	// Close on context done, wazero's own way to stop a guest, costs tight loops 10 to 45 times their speed and
	// does not see call trees without loops (wazero#2466, wazero#2533). The meter does what it is for.
	config := wazero.NewRuntimeConfig().WithCoreFeatures(features).WithDebugInfoEnabled(false)
	var cache wazero.CompilationCache
	if cacheDir != "" {
		if cache, err = wazero.NewCompilationCacheWithDir(cacheDir); err != nil {
			return fmt.Errorf("open the compilation cache %s: %w", cacheDir, err)
		}
		config = config.WithCompilationCache(cache)
	}
	r := wazero.NewRuntimeWithConfig(ctx, config)
	defer func() {
		if err != nil {
			_ = r.Close(ctx)
			if cache != nil {
				_ = cache.Close(ctx)
			}
		}
	}()
	if err := instantiateHost(ctx, r); err != nil {
		return fmt.Errorf("load module %s: offer the host functions: %w", path, err)
	}
	if err := instantiateMeter(ctx, r); err != nil {
		return fmt.Errorf("load module %s: offer the meter: %w", path, err)
	}
	if parsed.importsModule(abortModule) {
		if err := instantiateAbort(ctx, r); err != nil {
			return fmt.Errorf("load module %s: offer %s.%s: %w", path, abortModule, abortFunction, err)
		}
	}
	if parsed.importsModule(wasiModule) {
		if err := instantiateWASI(ctx, r, path, parsed); err != nil {
			return err
		}
	}
	compiled, err := compileModule(experimental.WithCompilationWorkers(ctx, runtime.GOMAXPROCS(0)), r, metered)
	if err != nil {
		return notValid(path, err)
	}
	c.runtime, c.cache, c.compiled = r, cache, compiled
	return nil
}

// compileModule turns a panic of the compiler into an error: the bytes come from a file.
func compileModule(ctx context.Context, r wazero.Runtime, wasm []byte) (m wazero.CompiledModule, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the compiler panicked: %v", p)
		}
	}()
	return r.CompileModule(ctx, wasm)
}
