package forms_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/databases"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// open connects to a test's database.
func open(t *testing.T, db testdb.Database) store.Store {
	t.Helper()
	s, err := databases.Open(t.Context(), databases.Builtin(), db.URL, store.Options{MaxConnections: 4})
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

// each runs a test on every database.
func each(t *testing.T, run func(t *testing.T, s store.Store)) {
	t.Helper()
	testdb.Each(t, func(t *testing.T, db testdb.Database) { run(t, open(t, db)) })
}

// roles gives each role a column of its own name.
func roles(list ...dialect.Role) map[dialect.Role]string {
	named := map[dialect.Role]string{}
	for _, r := range list {
		named[r] = r.String()
	}
	return named
}

// everyRole is a table with all of them.
func everyRole() *dialect.Table {
	return &dialect.Table{Name: "jobs", ID: []string{"id"}, Roles: roles(dialect.Roles()...)}
}

// leased is a table that keeps what most tests need.
func leased() *dialect.Table {
	return &dialect.Table{Name: "jobs", ID: []string{"id"}, Roles: roles(dialect.Group, dialect.Priority,
		dialect.RetryAfter, dialect.Attempt, dialect.LockedUntil, dialect.Headers, dialect.Payload, dialect.Error)}
}

// create makes a table as the dialect's schema has it and describes it.
func create(t *testing.T, s store.Store, table *dialect.Table) *dialect.Table {
	t.Helper()
	schema := s.Dialect().Schema(table)
	script(t, s, schema.Table)
	script(t, s, schema.Index)
	describe(t, s, table)
	return table
}

func script(t *testing.T, s store.Store, sql string) {
	t.Helper()
	if err := s.Script(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func describe(t *testing.T, s store.Store, table *dialect.Table) {
	t.Helper()
	if err := forms.Describe(t.Context(), s, table); err != nil {
		t.Fatal(err)
	}
	if flaws := table.Check(s.Dialect()); len(flaws) > 0 {
		t.Fatalf("table %s: %+v", table, flaws)
	}
}

// lease is the form over a table, reading the group "g" for 30 s at a time.
func lease(t *testing.T, s store.Store, table *dialect.Table, change ...func(*forms.LeaseOptions)) *forms.Lease {
	t.Helper()
	o := forms.LeaseOptions{Table: table, Lease: 30 * time.Second, Now: time.Now}
	if table.Has(dialect.Group) {
		o.Group = "g"
		o.DeadGroup = "dead"
	}
	for _, c := range change {
		c(&o)
	}
	l, err := forms.NewLease(s, o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// fill writes n rows into the group "g" with the payloads "1", "2", ….
func fill(t *testing.T, s store.Store, table *dialect.Table, n int) {
	t.Helper()
	messages := make([]forms.Message, n)
	for i := range messages {
		messages[i] = forms.Message{Payload: []byte(strconv.Itoa(i + 1))}
		if table.Has(dialect.Group) {
			messages[i].Group = "g"
		}
	}
	write(t, s, table, messages...)
}

func write(t *testing.T, s store.Store, table *dialect.Table, messages ...forms.Message) {
	t.Helper()
	if err := forms.NewWriter(s, table, time.Now).Write(t.Context(), messages); err != nil {
		t.Fatal(err)
	}
}

func claim(t *testing.T, l *forms.Lease, limit int) []*forms.Delivery {
	t.Helper()
	deliveries, err := l.Claim(t.Context(), limit, false)
	if err != nil {
		t.Fatal(err)
	}
	return deliveries
}

// claimOne claims exactly one row.
func claimOne(t *testing.T, l *forms.Lease) *forms.Delivery {
	t.Helper()
	deliveries := claim(t, l, 1)
	if len(deliveries) != 1 {
		t.Fatalf("claimed %d rows, want 1", len(deliveries))
	}
	return deliveries[0]
}

// settle ends deliveries and wants the same state from each.
func settle(t *testing.T, l *forms.Lease, want forms.State, settlements ...*forms.Settlement) {
	t.Helper()
	for i, answer := range l.Settle(t.Context(), settlements) {
		if answer.State != want {
			t.Fatalf("settlement %d of row %s: %v (%v), want %v", i, settlements[i].Delivery.ID, answer.State, answer.Err, want)
		}
	}
}

func payloads(deliveries []*forms.Delivery) string {
	var text []string
	for _, d := range deliveries {
		text = append(text, string(d.Payload))
	}
	return strings.Join(text, " ")
}

// query reads a whole answer as text, rows on lines, NULL as a dash.
func query(t *testing.T, s store.Store, sql string) string {
	t.Helper()
	var lines []string
	statement := dialect.Statement{SQL: sql}
	err := s.Query(context.WithoutCancel(t.Context()), &statement, 0, nil, func(values [][]byte) error {
		var line []string
		for _, v := range values {
			if v == nil {
				line = append(line, "-")
			} else {
				line = append(line, string(v))
			}
		}
		lines = append(lines, strings.Join(line, "|"))
		return nil
	})
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return strings.Join(lines, "\n")
}

// rows is the table's content: the named columns as text, in the order of the first.
func rows(t *testing.T, s store.Store, table *dialect.Table, columns ...string) string {
	t.Helper()
	d := s.Dialect()
	cast := make([]string, len(columns))
	for i, c := range columns {
		cast[i] = d.Quote(c)
		if d.Name() == "PostgreSQL" && table.Named(c).Kind == dialect.Bytes {
			cast[i] = "convert_from(" + cast[i] + ", 'UTF8')"
		} else if d.Name() == "PostgreSQL" {
			cast[i] += "::text"
		}
	}
	return query(t, s, fmt.Sprintf("SELECT %s FROM %s ORDER BY %s", strings.Join(cast, ", "), d.Quote(table.Name), d.Quote(columns[0])))
}
