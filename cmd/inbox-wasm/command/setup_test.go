package command

import (
	"bytes"
	"context"
	"flag"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/databases"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
	"github.com/inbox-wasm/inbox-wasm/internal/testwasm"
)

var update = flag.Bool("update", false, "write the golden files")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const ackWAT = `(module (memory (export "memory") 1) (func (export "inbox_handle") (result i32) (i32.const 0)))`

// jobs is a table with every role that enqueue can give a value to.
const jobs = `[tables.jobs]
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
`

const work = `[handlers.work]
module = "ack.wasm"
table = "jobs"
poll_interval = "20ms"
`

// folder is where a test's inbox.toml and modules are.
type folder struct {
	t   *testing.T
	dir string
	db  testdb.Database
}

// newFolder has an inbox.toml on the database, and ack.wasm, which acks everything.
func newFolder(t *testing.T, db testdb.Database, toml string) *folder {
	t.Helper()
	f := &folder{t, t.TempDir(), db}
	f.file("ack.wasm", string(testwasm.WAT(t, ackWAT)))
	f.file("inbox.toml", "[database]\nurl = \""+db.URL+"\"\n"+toml)
	return f
}

func (f *folder) file(name, content string) string {
	f.t.Helper()
	path := filepath.Join(f.dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		f.t.Fatal(err)
	}
	return path
}

// result is what a run of the program came to.
type result struct {
	code           int
	stdout, stderr string
}

// run runs the program in this process.
func (f *folder) run(stdin string, args ...string) result {
	f.t.Helper()
	args = append(args, "-c", filepath.Join(f.dir, "inbox.toml"))
	return invoke(stdin, args...)
}

func invoke(stdin string, args ...string) result {
	var stdout, stderr bytes.Buffer
	code := Main(args, strings.NewReader(stdin), &stdout, &stderr)
	return result{code, stdout.String(), stderr.String()}
}

// must is run for what has to succeed.
func (f *folder) must(stdin string, args ...string) string {
	f.t.Helper()
	r := f.run(stdin, args...)
	if r.code != exitDone {
		f.t.Fatalf("%v: exit code %d\n%s%s", args, r.code, r.stdout, r.stderr)
	}
	return r.stdout
}

// sql runs statements on the folder's database.
func (f *folder) sql(statements ...string) {
	f.t.Helper()
	f.store(func(s store.Store) {
		for _, text := range statements {
			if err := s.Script(f.t.Context(), text); err != nil {
				f.t.Fatalf("%s: %v", text, err)
			}
		}
	})
}

func (f *folder) store(use func(store.Store)) {
	f.t.Helper()
	s, err := databases.Open(f.t.Context(), databases.Builtin(), f.db.URL, store.Options{MaxConnections: 1})
	if err != nil {
		f.t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			f.t.Error(err)
		}
	}()
	use(s)
}

// query is an answer as text, one row a line, NULL as a dash.
func (f *folder) query(sql string) string {
	f.t.Helper()
	var lines []string
	f.store(func(s store.Store) {
		err := s.Query(context.Background(), &dialect.Statement{SQL: sql}, 0, nil, func(values [][]byte) error {
			cells := make([]string, len(values))
			for i, v := range values {
				if cells[i] = string(v); v == nil {
					cells[i] = "-"
				}
			}
			lines = append(lines, strings.Join(cells, "|"))
			return nil
		})
		if err != nil {
			f.t.Fatalf("%s: %v", sql, err)
		}
	})
	return strings.Join(lines, "\n")
}

// rows are the rows of jobs, as every database writes them.
func (f *folder) rows(columns ...string) string {
	f.t.Helper()
	for i, c := range columns {
		switch {
		case f.db.Name == "postgres" && c == "payload":
			columns[i] = "convert_from(payload, 'UTF8')"
		case f.db.Name == "postgres":
			columns[i] += "::text"
		}
	}
	return strings.ReplaceAll(f.query("SELECT "+strings.Join(columns, ", ")+" FROM jobs ORDER BY id"), `": "`, `":"`)
}

var (
	address = regexp.MustCompile(`127\.0\.0\.1:\d+`)
	name    = regexp.MustCompile(`inbox_[a-z0-9]{16}`)
)

// masked is a text without what differs from run to run.
func (f *folder) masked(text string) string {
	text = strings.ReplaceAll(text, f.dir, "DIR")
	if path, isSQLite := strings.CutPrefix(f.db.URL, "sqlite:"); isSQLite {
		text = strings.ReplaceAll(text, filepath.Dir(path), "DATA")
	}
	return name.ReplaceAllString(address.ReplaceAllString(text, "ADDRESS"), "NAME")
}

// with is a database's URL with another user, path or address.
func with(t *testing.T, db testdb.Database, change func(*url.URL)) string {
	t.Helper()
	u, err := url.Parse(db.URL)
	if err != nil {
		t.Fatal(err)
	}
	change(u)
	return u.String()
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, name, got, string(want))
}

// equal compares what a test found with what it wants.
func equal[T any](t testing.TB, what string, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(result{})); diff != "" {
		t.Errorf("%s: got +, want -\n%s", what, diff)
	}
}
