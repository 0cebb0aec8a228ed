package dialect_test

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/databases"
	"github.com/inbox-wasm/inbox-wasm/dialect/sqlite"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/host"
	"github.com/inbox-wasm/inbox-wasm/host/config"
	"github.com/inbox-wasm/inbox-wasm/internal/testwasm"
)

// leaseOnly is a dialect that has the lease form and nothing else: the interface passes on its own
// methods alone.
type leaseOnly struct{ dialect.Lease }

func (leaseOnly) Name() string { return "OwnDB" }

// observed is a store that notes what is asked of it.
type observed struct {
	store.Store
	asked *[]string
}

func (o observed) note(what string) { *o.asked = append(*o.asked, what) }

func (o observed) Query(ctx context.Context, s *dialect.Statement, n int, args []any, row func([][]byte) error) error {
	if !strings.Contains(s.SQL, "pragma_") {
		o.note("query")
	}
	return o.Store.Query(ctx, s, n, args, row)
}

func (o observed) Exec(ctx context.Context, s *dialect.Statement, n int, args []any) (int64, error) {
	o.note("exec")
	return o.Store.Exec(ctx, s, n, args)
}

func (o observed) Begin(ctx context.Context) (store.Tx, error) {
	o.note("begin")
	return o.Store.Begin(ctx)
}

func (o observed) Hold(ctx context.Context) (store.Session, error) {
	o.note("hold")
	return o.Store.Hold(ctx)
}

func (o observed) Prepare(ctx context.Context, s *dialect.Statement) error {
	o.note("prepare")
	return o.Store.Prepare(ctx, s)
}

// own is the database of such a dialect, in files of SQLite.
func own(asked *[]string) databases.Database {
	return databases.Database{Schemes: []string{"own"}, Dialect: leaseOnly{sqlite.New()},
		Open: func(ctx context.Context, d dialect.Dialect, url string, o store.Options) (store.Store, error) {
			s, err := sqlite.Open(ctx, d, strings.Replace(url, "own:", "sqlite:", 1), o)
			if err != nil {
				return nil, err
			}
			return observed{s, asked}, nil
		}}
}

// A dialect without a form's interface refuses the tables that take the form, before any of the form's
// statements is as much as prepared.
func TestFormThatADialectLacks(t *testing.T) {
	roles := func(more ...dialect.Role) map[dialect.Role]string {
		named := map[dialect.Role]string{dialect.Payload: "payload", dialect.Group: "name"}
		for _, r := range more {
			named[r] = r.String()
		}
		return named
	}
	for _, test := range []struct {
		name, want string
		table      *dialect.Table
		fifo       bool
	}{
		{"lease", "", &dialect.Table{Roles: roles(dialect.LockedUntil)}, false},
		{"row lock", "OwnDB has no row locks", &dialect.Table{Roles: roles()}, false},
		{"advisory", "OwnDB has no advisory lock form", &dialect.Table{Roles: roles(), Key: []dialect.KeyPart{{Column: "id"}}}, false},
		{"FIFO groups", "OwnDB has no FIFO groups", &dialect.Table{Roles: roles(dialect.LockedUntil)}, true},
		{"row mode", "OwnDB has no row mode", &dialect.Table{Roles: map[dialect.Role]string{dialect.Group: "name", dialect.LockedUntil: "l"}}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			var asked []string
			db := own(&asked)
			s, err := databases.Open(t.Context(), []databases.Database{db}, "own://"+filepath.Join(t.TempDir(), "inbox.db"), store.Options{MaxConnections: 1})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}()
			test.table.Name, test.table.ID = "jobs", []string{"id"}
			if err := s.Script(t.Context(), s.Dialect().Schema(test.table).Table); err != nil {
				t.Fatal(err)
			}
			if err := forms.Describe(t.Context(), s, test.table); err != nil {
				t.Fatal(err)
			}
			_, err = forms.New(s, forms.Options{Table: test.table, Group: "g", FIFO: test.fifo, Lease: time.Minute, Now: time.Now})
			expect(t, err, test.want)
			if len(asked) > 0 {
				t.Errorf("the database was asked: %q", asked)
			}
		})
	}
}

// The program refuses such a table at its start, with a line that says what to do, and leaves its rows
// as they are.
func TestStartOnAFormThatADialectLacks(t *testing.T) {
	for _, test := range []struct{ name, roles, want string }{
		{"lease", "locked_until = \"locked_until\"\n", ""},
		{"row lock", "", "OwnDB has no row locks"},
		{"FIFO groups", "locked_until = \"locked_until\"\nfifo = true\n", "OwnDB has no FIFO groups"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var asked []string
			db := own(&asked)
			folder := t.TempDir()
			url := "own://" + filepath.Join(folder, "inbox.db")
			toml := "[database]\nurl = \"" + url + "\"\n[tables.jobs]\nid = \"id\"\ngroup = \"name\"\npayload = \"payload\"\n" + test.roles +
				"[handlers.work]\nmodule = \"" + testwasm.WATFile(t, "testdata/ack.wat") + "\"\ntable = \"jobs\"\n"
			cfg, err := config.Parse(filepath.Join(folder, "inbox.toml"), []byte(toml), func(string) (string, bool) { return "", false }, "own")
			if err != nil {
				t.Fatal(err)
			}
			s, err := databases.Open(t.Context(), []databases.Database{db}, url, store.Options{MaxConnections: 1})
			if err != nil {
				t.Fatal(err)
			}
			table := cfg.Tables[0].Declared()
			if err := s.Script(t.Context(), s.Dialect().Schema(table).Table); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(forms.Describe(t.Context(), s, table), s.Close()); err != nil {
				t.Fatal(err)
			}
			asked = nil
			service, err := host.Open(t.Context(), host.Options{Config: cfg, Log: slog.New(slog.DiscardHandler), Databases: []databases.Database{db}})
			expect(t, err, test.want)
			if service != nil {
				if err := service.Close(); err != nil {
					t.Error(err)
				}
			}
			if refused := test.want != ""; refused == (len(asked) > 0) {
				t.Errorf("the database was asked: %q", asked)
			}
		})
	}
}

func expect(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("refused: %v", err)
	case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
		t.Errorf("%v, want %q", err, want)
	}
}
