// Package engine runs guests: it loads a WebAssembly module, checks what it imports and exports, compiles it
// once, instantiates it and calls it with one message, or one batch of them, at a time. It knows no database and no configuration
// file.
//
// The three types nest: an [Engine] holds compiled code, a [Module] is one handler's use of it, an [Instance]
// is one memory with its state. An Engine and a Module may be used from many goroutines, an Instance belongs
// to one at a time.
package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
)

// Options for an engine.
type Options struct {
	// CacheDir keeps compiled code between runs; empty keeps none. It is created with mode 0700, and refused
	// where another user could have written machine code into it.
	CacheDir string
	// Log takes the engine's own lines; nil discards them.
	Log *slog.Logger
}

// Engine holds compiled modules, one per file content, however many handlers load it.
type Engine struct {
	log      *slog.Logger
	cacheDir string

	mu     sync.Mutex
	closed bool
	code   map[contentHash]*code
}

var errEngineClosed = errors.New("the engine is closed")

// New makes an engine. It compiles nothing yet.
func New(ctx context.Context, o Options) (*Engine, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("start the engine: %w", err)
	}
	if o.CacheDir != "" {
		if err := prepareCacheDir(o.CacheDir); err != nil {
			return nil, err
		}
	}
	return &Engine{log: orDiscard(o.Log), cacheDir: o.CacheDir, code: map[contentHash]*code{}}, nil
}

// Close releases the code of every module that has no instance, and refuses loads from then on. Where
// instances are still open it says so; their code goes with the last of them, because taking it away from a
// guest that runs would not be safe.
func (e *Engine) Close(ctx context.Context) error {
	e.mu.Lock()
	e.closed = true
	var idle []*code
	var busy []string
	for hash, c := range e.code {
		if c.instances > 0 {
			busy = append(busy, c.info.Path)
			continue
		}
		delete(e.code, hash)
		idle = append(idle, c)
	}
	e.mu.Unlock()

	var errs []error
	for _, c := range idle {
		errs = append(errs, c.close(ctx))
	}
	if len(busy) > 0 {
		slices.Sort(busy)
		errs = append(errs, fmt.Errorf("close the engine: instances are still open of %s", strings.Join(busy, ", ")))
	}
	return errors.Join(errs...)
}

func orDiscard(log *slog.Logger) *slog.Logger {
	if log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return log
}
