package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"sync"
	"time"
)

// Limits of one handler.
type Limits struct {
	// Memory is the most that an instance's linear memory may grow to, in bytes, rounded down to pages of
	// 64 KiB. 0 leaves it at what WebAssembly itself allows, 4 GiB.
	Memory int64
	// Allowed names the functions with a side effect that the handler may import, such as "db".
	Allowed []string
}

// Info describes a loaded module.
type Info struct {
	Path          string
	Hash          string // SHA-256 of the file, in hex
	Size          int64
	Imports       []string // "inbox_v1.payload", in the module's order
	Exports       []string // names, sorted
	Command       bool     // a program: each message has an instance and _start
	InitialMemory int64    // bytes
	CompileTime   time.Duration
}

// Module is one handler's use of compiled code, with the handler's limits.
type Module struct {
	engine *Engine
	code   *code
	hash   contentHash
	info   Info
	limit  uint64

	closeOnce sync.Once
	closeErr  error

	mu     sync.Mutex
	closed bool
}

// Load reads, checks and compiles the module at path. What is wrong with the module itself is a [*LoadError].
func (e *Engine) Load(ctx context.Context, path string, l Limits) (*Module, error) {
	wasm, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("load module %s: %w", path, err)
	}
	return e.LoadBytes(ctx, path, wasm, l)
}

// LoadBytes is Load for bytes that the caller has; name stands for the path.
func (e *Engine) LoadBytes(ctx context.Context, name string, wasm []byte, l Limits) (*Module, error) {
	limit, err := memoryLimit(name, l.Memory)
	if err != nil {
		return nil, err
	}
	parsed, err := check(name, wasm, limit, l.Allowed)
	if err != nil {
		return nil, err
	}
	hash := contentHash(sha256.Sum256(wasm))
	c, err := e.acquire(ctx, name, wasm, hash, parsed)
	if err != nil {
		if load, ok := err.(*LoadError); ok && load.Path != name {
			// Compiled for another path with the same bytes: the fault is the same, the name is not.
			err = &LoadError{Path: name, What: load.What, Remedy: load.Remedy}
		}
		return nil, err
	}
	info := c.info
	info.Path = name
	return &Module{engine: e, code: c, hash: hash, info: info, limit: limit}, nil
}

// Info returns what the module is. The slices are shared: do not change them.
func (m *Module) Info() Info { return m.info }

// Close gives up the module. Its instances may go on; the compiled code goes with the last user of these
// bytes, be it another handler or an instance. Closing twice is harmless.
func (m *Module) Close(ctx context.Context) error {
	m.closeOnce.Do(func() {
		m.mu.Lock()
		m.closed = true
		m.mu.Unlock()
		m.closeErr = m.engine.release(ctx, m.code, m.hash, false)
	})
	return m.closeErr
}

// retain counts an instance, unless the module is closed.
func (m *Module) retain() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return fmt.Errorf("the module is closed")
	}
	return m.engine.retainInstance(m.code)
}

func (p *parsed) info(path string, hash contentHash, size int, compile time.Duration) Info {
	return Info{
		Path:          path,
		Hash:          hex.EncodeToString(hash[:]),
		Size:          int64(size),
		Imports:       p.importNames(),
		Exports:       p.exportNames(),
		Command:       p.isCommand(),
		InitialMemory: int64(p.initialMemory()),
		CompileTime:   compile,
	}
}
