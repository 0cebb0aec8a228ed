package cockroach

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/postgres"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/examples/dialect/internal/goldens"
	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// onPostgres is the dialect on a database of PostgreSQL, which has the schema queue beside its own.
func onPostgres(t *testing.T) store.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), New(), testdb.Postgres(t), store.Options{MaxConnections: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	script(t, s, "CREATE SCHEMA queue")
	return s
}

func script(t *testing.T, s store.Store, sql string) {
	t.Helper()
	if err := s.Script(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// create makes a table and describes it.
func create(t *testing.T, s store.Store, table *dialect.Table) {
	t.Helper()
	script(t, s, New().Schema(table).Table)
	if err := forms.Describe(t.Context(), s, table); err != nil {
		t.Fatal(err)
	}
	if flaws := table.Check(New()); len(flaws) > 0 {
		t.Fatalf("%+v", flaws)
	}
}

// foreign are the statements that PostgreSQL does not understand: its information_schema has no view of
// indexes.
var foreign = []string{"indexes"}

// TestGoldens renders every statement of both forms on every role set. PostgreSQL parses those that it
// shares.
func TestGoldens(t *testing.T) {
	s := onPostgres(t)
	for _, set := range slices.Concat(
		goldens.Sets("row-lock", nil, nil),
		goldens.Sets("lease", map[dialect.Role]string{dialect.LockedUntil: "locked until"}, nil)) {
		t.Run(set.Name, func(t *testing.T) {
			target := *set.Table
			target.Schema, target.Name = "", "dead_letters"
			create(t, s, set.Table)
			create(t, s, &target)
			defer script(t, s, "DROP TABLE "+postgres.New().Table(set.Table)+", dead_letters")
			text, statements := goldens.Text(t, New(), set.Table, &target)
			goldens.Compare(t, set.Name, text)
			for _, n := range statements {
				if err := goldens.CheckPlaceholders("$", &n.Statement); err != nil {
					t.Errorf("%s: %v", n.Name, err)
				}
				if strings.Contains(n.Statement.SQL, "ctid") || strings.Contains(n.Statement.SQL, "advisory") {
					t.Errorf("%s is not for CockroachDB\n%s", n.Name, n.Statement.SQL)
				}
				if err := s.Prepare(t.Context(), &n.Statement); (err != nil) != slices.Contains(foreign, n.Name) {
					t.Errorf("prepare %s: %v\n%s", n.Name, err, n.Statement.SQL)
				}
			}
		})
	}
}

// TestDelivery claims and settles rows by their keys.
func TestDelivery(t *testing.T) {
	s := onPostgres(t)
	for _, set := range slices.Concat(
		goldens.Sets("row-lock", nil, nil)[1:2],
		goldens.Sets("lease", map[dialect.Role]string{dialect.LockedUntil: "locked_until"}, nil)[1:2]) {
		t.Run(set.Name, func(t *testing.T) {
			create(t, s, set.Table)
			defer script(t, s, "DROP TABLE "+postgres.New().Table(set.Table))
			messages := []forms.Message{{Payload: []byte("a")}, {Payload: []byte("b")}, {Payload: []byte("c")}}
			if err := forms.NewWriter(s, set.Table, time.Now).Write(t.Context(), messages); err != nil {
				t.Fatal(err)
			}
			form, err := forms.New(s, forms.Options{Table: set.Table, Lease: 30 * time.Second, Now: time.Now})
			if err != nil {
				t.Fatal(err)
			}
			var told strings.Builder
			for range 2 {
				deliveries, err := form.Claim(t.Context(), 2, false)
				if err != nil {
					t.Fatal(err)
				}
				var settlements []*forms.Settlement
				for i, d := range deliveries {
					told.Write(d.Payload)
					settlements = append(settlements, &forms.Settlement{Delivery: d, Change: []forms.Change{forms.Return, forms.Finish}[i]})
				}
				for _, answer := range form.Settle(t.Context(), settlements) {
					if answer.State != forms.Done {
						t.Fatalf("%v: %v", answer.State, answer.Err)
					}
				}
			}
			if told.String() != "abac" {
				t.Errorf("delivered %s", told.String())
			}
		})
	}
}

// TestWhatIsNotPromised refuses tables whose forms rest on locks of a session.
func TestWhatIsNotPromised(t *testing.T) {
	var d any = New()
	if _, ok := d.(dialect.Advisory); ok {
		t.Error("it has locks of a session")
	}
	if _, ok := d.(dialect.Fifo); ok {
		t.Error("it has FIFO groups")
	}
	if _, ok := d.(dialect.Notifies); ok {
		t.Error("it notifies")
	}
	if kept, levels := dialect.Keeps(New(), dialect.RepeatableRead); kept {
		t.Errorf("it keeps %s", levels)
	}
}

func TestCheckVersion(t *testing.T) {
	for version, old := range map[string]bool{
		"CockroachDB CCL v24.3.1 (x86_64-pc-linux-gnu, built 2024/12/05 01:02:03, go1.22.8)": false,
		"CockroachDB CCL v25.1.0-rc.1 (x86_64-pc-linux-gnu)":                                 false,
		"CockroachDB CCL v24.1.19 (x86_64-pc-linux-gnu)":                                     true,
		"PostgreSQL 25.0": true,
		"":                true,
	} {
		if err := New().CheckVersion(version); (err != nil) != old {
			t.Errorf("%q: %v", version, err)
		}
	}
}

// TestOpen asks the server for the order of NULL, which PostgreSQL cannot give.
func TestOpen(t *testing.T) {
	_, rest, _ := strings.Cut(testdb.Postgres(t), ":")
	if _, err := Open(t.Context(), New(), "cockroachdb:"+rest, store.Options{MaxConnections: 1}); err == nil || !strings.Contains(err.Error(), "null_ordered_last") {
		t.Error(err)
	}
	if _, err := Open(t.Context(), New(), "cockroachdb://root:s3cr3t%@localhost", store.Options{MaxConnections: 1}); err == nil || strings.Contains(err.Error(), "s3cr3t") {
		t.Error(err)
	}
}

// TestStore wraps PostgreSQL's store.
func TestStore(t *testing.T) {
	s := Store{onPostgres(t)}
	if version, err := s.Version(t.Context()); err != nil || !strings.HasPrefix(version, "PostgreSQL ") {
		t.Errorf("%q: %v", version, err)
	}
	for err, want := range map[error]store.Failure{
		&pgconn.PgError{Severity: "ERROR", Code: "40001"}: store.Transient,
		&pgconn.PgError{Severity: "ERROR", Code: "40003"}: store.Unanswered,
		&pgconn.PgError{Severity: "ERROR", Code: "23505"}: store.Refused,
		errors.New("cut off"):                             store.Unanswered,
	} {
		if got := s.Failure(err); got != want {
			t.Errorf("%v: %d, want %d", err, got, want)
		}
	}
	if _, ok := any(s).(store.Listener); ok {
		t.Error("it listens")
	}
}
