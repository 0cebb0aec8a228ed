package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/databases"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/host/config"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
	"github.com/inbox-wasm/inbox-wasm/internal/testwasm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait for something that should happen soon.
const patience = time.Minute

// tables are a queue with every role that these tests use, a dead letter table for it, and a queue with
// none but those that it must have.
const tables = `
[tables.jobs]
id = "id"
group = "name"
priority = "priority"
partition_key = "customer"
attempt = "attempt"
retry_after = "retry_after"
locked_until = "locked_until"
headers = "headers"
payload = "payload"
error = "error"
[tables.dead_jobs]
id = "id"
group = "name"
priority = "priority"
partition_key = "customer"
attempt = "attempt"
retry_after = "retry_after"
locked_until = "locked_until"
headers = "headers"
payload = "payload"
error = "error"
[tables.plain]
id = "id"
locked_until = "locked_until"
payload = "payload"
`

// handler is a section of a handler that polls often, with more keys.
func handler(t testing.TB, name, table, keys string) string {
	t.Helper()
	return fmt.Sprintf("[handlers.%s]\nmodule = %q\ntable = %q\npoll_interval = \"20ms\"\n%s\n", name, faces(t), table, keys)
}

func faces(t testing.TB) string {
	t.Helper()
	return testwasm.WATFile(t, filepath.Join("testdata", "faces.wat"))
}

// parse reads a configuration as if it stood in a folder of the test's own.
func parse(t testing.TB, db testdb.Database, toml string) *config.Config {
	t.Helper()
	data := fmt.Sprintf("[database]\nurl = %q\n%s", db.URL, toml)
	cfg, err := config.Parse(filepath.Join(t.TempDir(), "inbox.toml"), []byte(data), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// connect opens a test's database.
func connect(t testing.TB, db testdb.Database) store.Store {
	t.Helper()
	s, err := databases.Open(t.Context(), databases.Builtin(), db.URL, store.Options{MaxConnections: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// create makes the declared tables.
func create(t testing.TB, s store.Store, cfg *config.Config) {
	t.Helper()
	for _, declared := range cfg.Tables {
		schema := s.Dialect().Schema(declared.Declared())
		script(t, s, schema.Table)
		if schema.Index != "" {
			script(t, s, schema.Index)
		}
	}
}

func script(t testing.TB, s store.Store, sql string) {
	t.Helper()
	if err := s.Script(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// bench is a service on a database of its own, with its log.
type bench struct {
	*Service
	t   *testing.T
	log *lines
}

// open makes the declared tables and opens a service on them.
func open(t *testing.T, db testdb.Database, toml string, change ...func(*Options)) *bench {
	t.Helper()
	cfg := parse(t, db, toml)
	create(t, connect(t, db), cfg)
	return reopen(t, cfg, change...)
}

// reopen opens a service on tables that are there.
func reopen(t *testing.T, cfg *config.Config, change ...func(*Options)) *bench {
	t.Helper()
	b := &bench{t: t, log: &lines{}}
	o := Options{Config: cfg, Log: b.log.logger()}
	for _, c := range change {
		c(&o)
	}
	var err error
	if b.Service, err = Open(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Log(b.log.tail(60))
		}
	})
	return b
}

func untilEmpty(o *Options) { o.UntilEmpty = true }

// enqueue writes payloads into a group, through the service.
func (b *bench) enqueue(table, group string, payloads ...string) {
	b.t.Helper()
	b.write(table, messages(group, payloads)...)
}

func messages(group string, payloads []string) []forms.Message {
	list := make([]forms.Message, len(payloads))
	for i, p := range payloads {
		list[i] = forms.Message{Group: group, Payload: []byte(p)}
	}
	return list
}

func (b *bench) write(table string, messages ...forms.Message) {
	b.t.Helper()
	if err := b.Enqueue(b.t.Context(), table, messages); err != nil {
		b.t.Fatal(err)
	}
}

// drain runs the service until its queues are empty.
func (b *bench) drain() {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), patience)
	defer cancel()
	if err := b.Run(ctx, nil); err != nil {
		b.t.Fatal(err)
	}
	if ctx.Err() != nil {
		b.t.Fatal("the queues did not become empty")
	}
}

// start runs the service until stop is called or the test ends.
func (b *bench) start() (stop func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- b.Run(ctx, nil) }()
	stop = sync.OnceValue(func() error {
		cancel()
		select {
		case err := <-ended:
			return err
		case <-time.After(patience):
			return errors.New("the service does not stop")
		}
	})
	b.t.Cleanup(func() {
		if err := stop(); err != nil {
			b.t.Error(err)
		}
	})
	return stop
}

// counts are what a handler has done.
func (b *bench) counts(handler string) Counts {
	for _, sub := range b.subscriptions() {
		if sub.handler.Name == handler {
			return sub.counters.read()
		}
	}
	b.t.Fatalf("no handler %s", handler)
	return Counts{}
}

// rows are some columns of a table's rows, in the order of their payloads and keys; a where clause may
// follow the table's name.
func (b *bench) rows(from string, columns ...string) string {
	b.t.Helper()
	d := b.store.Dialect()
	selected := make([]string, len(columns))
	for i, c := range columns {
		selected[i] = d.Quote(c)
		switch {
		case d.Name() != "PostgreSQL":
		case c == "payload":
			selected[i] = "encode(payload, 'escape')"
		default:
			selected[i] += "::text"
		}
	}
	return b.query("SELECT " + strings.Join(selected, ", ") + " FROM " + from + " ORDER BY payload, id")
}

// query is an answer as text, one row a line, NULL as a dash.
func (b *bench) query(sql string) string {
	b.t.Helper()
	var text strings.Builder
	err := b.store.Query(context.WithoutCancel(b.t.Context()), &dialect.Statement{SQL: sql}, 0, nil, func(values [][]byte) error {
		for i, v := range values {
			if i > 0 {
				text.WriteByte('|')
			}
			if v == nil {
				v = []byte("-")
			}
			text.Write(v)
		}
		text.WriteByte('\n')
		return nil
	})
	if err != nil {
		b.t.Fatalf("%s: %v", sql, err)
	}
	return text.String()
}

// script runs SQL on the test's database.
func (b *bench) script(sql string) {
	b.t.Helper()
	script(b.t, b.store, sql)
}

// eventually waits for a condition.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatalf("it did not happen: %s", what)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// equal compares what a test found with what it wants.
func equal[T any](t testing.TB, what string, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: got +, want -\n%s", what, diff)
	}
}

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

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// tail is the last lines.
func (l *lines) tail(n int) string {
	all := strings.Split(l.String(), "\n")
	return strings.Join(all[max(0, len(all)-n):], "\n")
}

// count is how many lines hold the text.
func (l *lines) count(text string) int {
	n := 0
	for line := range strings.Lines(l.String()) {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

func (l *lines) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
}
