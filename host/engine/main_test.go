package engine

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/inbox-wasm/inbox-wasm/internal/testwasm"
)

// compiled is the cache of what takes long to compile, so that it is compiled once.
var compiled string

func TestMain(m *testing.M) {
	var err error
	if compiled, err = os.MkdirTemp("", "engine"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(compiled)
		os.Exit(code)
	}))
}

// newEngine is closed when the test ends, which fails where an instance was left open.
func newEngine(t testing.TB, o Options) *Engine {
	t.Helper()
	e, err := New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return e
}

// wat assembles testdata/NAME.wat.
func wat(t testing.TB, name string) []byte {
	t.Helper()
	source, err := os.ReadFile(filepath.Join("testdata", name+".wat"))
	if err != nil {
		t.Fatal(err)
	}
	return testwasm.WAT(t, string(source))
}

func load(t testing.TB, e *Engine, name string, wasm []byte, l Limits) *Module {
	t.Helper()
	m, err := e.LoadBytes(t.Context(), name, wasm, l)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return m
}

func instance(t testing.TB, m *Module, s Settings) *Instance {
	t.Helper()
	i, err := m.NewInstance(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := i.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return i
}

// faces is an instance of testdata/faces.wat, which the payload tells how to behave.
func faces(t testing.TB, s Settings) *Instance {
	t.Helper()
	return instance(t, load(t, newEngine(t, Options{}), "faces", wat(t, "faces"), Limits{}), s)
}

func face(payload string) *Message { return &Message{Payload: []byte(payload)} }

// lines is a log that a test reads.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lines) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := strings.TrimSuffix(l.buf.String(), "\n")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// logger writes lines without their time, from the given level on.
func (l *lines) logger(level slog.Level) *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: level, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
}
