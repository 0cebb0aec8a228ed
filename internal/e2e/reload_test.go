package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
	"github.com/inbox-wasm/inbox-wasm/internal/testwasm"
)

// copied is a copy of a module that the test may replace.
func copied(t *testing.T, from string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "handler.wasm")
	replaceFile(t, path, from)
	return path
}

// replaceFile puts what another file holds in the place of a file, at once.
func replaceFile(t *testing.T, path, from string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+".new", data, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// dropping is a module that drops every row.
func dropping(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "drop.wasm")
	if err := os.WriteFile(path, testwasm.WAT(t, `(module (memory (export "memory") 1) (func (export "inbox_handle") (result i32) (i32.const 3)))`), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A signal, or with --watch the change itself, has a running process take a new module; a broken one changes
// nothing; and no row is lost or handled twice, with calls in flight all the while.
func TestReloadOfARunningProcess(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"signal", "watch"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			testdb.Each(t, func(t *testing.T, database testdb.Database) {
				t.Parallel()
				const rows = 300
				module, other := copied(t, slow(t)), dropping(t)
				b := newInbox(t, database, options{module: module, handler: "threads = 2"})
				args := []string{"serve"}
				if how == "watch" {
					args = append(args, "--watch")
				}
				b.enqueue(repeat("010", rows)...)
				p := b.start(args...)
				reload := func(told string) {
					t.Helper()
					before := p.count(starting(told))
					if how == "signal" {
						p.signal(syscall.SIGHUP)
					}
					eventually(t, "the process says: "+told, func() bool { return p.count(starting(told)) > before })
				}
				eventually(t, "rows are acked", func() bool { return p.count(settled("", "acked")) > 0 })
				if err := os.WriteFile(module, []byte("\x00asm"), 0o600); err != nil {
					t.Fatal(err)
				}
				reload("not reloaded, what runs goes on")
				replaceFile(t, module, other)
				reload("reloaded")
				b.enqueue(repeat("0", rows)...)
				b.empty()
				p.terminate()
				outcomes := settledOnce(t, final, p)
				counted := map[string]int{}
				for _, o := range outcomes {
					counted[o]++
				}
				if counted["acked"] == 0 || counted["dropped"] < rows || counted["acked"]+counted["dropped"] != 2*rows {
					t.Errorf("%d rows came to %v", 2*rows, counted)
				}
				if n := p.count(func(l *line) bool { return strings.Contains(l.Message, "interrupted") }); n > 0 {
					t.Errorf("%d calls were interrupted", n)
				}
				healthy(t, p)
			})
		})
	}
}

// A new inbox.toml brings a handler, and a signal before the program serves does not end it.
func TestReloadOfTheConfiguration(t *testing.T) {
	t.Parallel()
	database := testdb.Database{Name: "sqlite", URL: testdb.SQLite(t)}
	b := newInbox(t, database, options{module: slow(t), handler: "threads = 2"})
	p := b.start("serve")
	p.says("that it serves", serving)
	text, err := os.ReadFile(b.config)
	if err != nil {
		t.Fatal(err)
	}
	more := string(text) + "\n[handlers.more]\nmodule = \"" + dropping(t) + "\"\ntable = \"jobs\"\n"
	if err := os.WriteFile(b.config, []byte(more), 0o600); err != nil {
		t.Fatal(err)
	}
	p.signal(syscall.SIGHUP)
	p.says("that it is reloaded", starting("reloaded"))
	b.exec("INSERT INTO jobs (name, payload) VALUES ('more', '0')")
	b.empty()
	if err := os.WriteFile(b.config, []byte(more+"nonsense = 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.signal(syscall.SIGHUP)
	p.says("why it is not reloaded", func(l *line) bool { return strings.Contains(l.Message, "handlers.more.nonsense: unknown key") })
	b.exec("INSERT INTO jobs (name, payload) VALUES ('more', '0')")
	b.empty()
	p.terminate()
	healthy(t, p)
}
