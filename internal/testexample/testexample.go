// Package testexample runs an example as its reader would: the program's commands, in a folder with the example's
// inbox.toml, on a database of the test's own.
package testexample

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/inbox-wasm/inbox-wasm/cmd/inbox-wasm/command"
	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/databases"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// Example is an example in a folder of its own.
type Example struct {
	t     *testing.T
	dir   string
	store store.Store
}

// New copies an inbox.toml, whose URL is ${DATABASE_URL}. What one example has compiled the next one of the same test
// finds in the cache.
func New(t *testing.T, db testdb.Database, config, cache string) *Example {
	t.Helper()
	toml, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	s, err := databases.Open(t.Context(), databases.Builtin(), db.URL, store.Options{MaxConnections: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Setenv("DATABASE_URL", db.URL)
	e := &Example{t, t.TempDir(), s}
	e.write("inbox.toml", fmt.Appendf(toml, "\n[runtime]\ncache_dir = %q\n", cache))
	return e
}

func (e *Example) write(name string, text []byte) {
	e.t.Helper()
	file := filepath.Join(e.dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		e.t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		e.t.Fatal(err)
	}
}

// Copy copies a file, such as a module, into the folder.
func (e *Example) Copy(name, from string) {
	e.t.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		e.t.Fatal(err)
	}
	e.write(name, text)
}

// Run runs the program, which has to succeed, and gives what it printed.
func (e *Example) Run(stdin string, args ...string) (stdout, stderr string) {
	e.t.Helper()
	var out, log bytes.Buffer
	if code := command.Main(append(args, "-c", filepath.Join(e.dir, "inbox.toml")), strings.NewReader(stdin), &out, &log); code != 0 {
		e.t.Fatalf("inbox-wasm %s: %d\n%s%s", strings.Join(args, " "), code, &out, &log)
	}
	return out.String(), log.String()
}

// SQL runs statements beside the program.
func (e *Example) SQL(sql string) {
	e.t.Helper()
	if err := e.store.Script(e.t.Context(), sql); err != nil {
		e.t.Fatalf("%s: %v", sql, err)
	}
}

// Text is an expression whose answer is a text: numbers and bytes differ between the databases.
func (e *Example) Text(expression string) string {
	if e.store.Dialect().Name() != "PostgreSQL" {
		return expression
	}
	if expression == "payload" {
		return "encode(payload, 'escape')"
	}
	return "(" + expression + ")::text"
}

// Equal compares an answer.
func (e *Example) Equal(what, sql, want string) {
	e.t.Helper()
	if got := e.Rows(sql); got != want {
		e.t.Errorf("%s:\n%swant\n%s", what, got, want)
	}
}

// Rows gives an answer, one row a line with bars between the values.
func (e *Example) Rows(sql string) string {
	e.t.Helper()
	var got strings.Builder
	err := e.store.Query(context.WithoutCancel(e.t.Context()), &dialect.Statement{SQL: sql}, 0, nil, func(values [][]byte) error {
		got.Write(bytes.Join(values, []byte("|")))
		got.WriteByte('\n')
		return nil
	})
	if err != nil {
		e.t.Fatalf("%s: %v", sql, err)
	}
	return got.String()
}
