package forms_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

var update = flag.Bool("update", false, "write the golden files")

// TestGoldens renders every statement of every role set for every database, compares it with its
// golden file and has the live server parse it.
func TestGoldens(t *testing.T) {
	sets := []struct {
		name  string
		table *dialect.Table
	}{
		{"minimal", &dialect.Table{Name: "jobs", ID: []string{"id"}, Roles: roles(dialect.LockedUntil, dialect.Payload)}},
		{"counted", &dialect.Table{Name: "jobs", ID: []string{"id"}, Roles: roles(dialect.LockedUntil, dialect.Payload,
			dialect.Attempt, dialect.Error)}},
		{"grouped", leased()},
		{"every-role", everyRole()},
		{"row-mode", &dialect.Table{Name: "jobs", ID: []string{"id"}, Roles: roles(dialect.LockedUntil, dialect.Group, dialect.Attempt, dialect.Headers)}},
		{"fifo", &dialect.Table{Name: "jobs", ID: []string{"id"}, FIFO: true, Roles: roles(dialect.Group, dialect.RetryAfter,
			dialect.ProcessedAt, dialect.LockedUntil, dialect.Payload)}},
		{"two-keys", &dialect.Table{Name: `My "Jobs"`, ID: []string{"tenant", "order"}, Roles: map[dialect.Role]string{
			dialect.LockedUntil: "Locked Until", dialect.Attempt: "select", dialect.Payload: "payload", dialect.Group: "group"}}},
		{"row-lock-minimal", &dialect.Table{Name: "jobs", ID: []string{"id"}, Roles: roles(dialect.Payload)}},
		{"row-lock-counted", bare()},
		{"row-lock-every-role", without(everyRole(), dialect.LockedUntil)},
		{"row-lock-fifo", &dialect.Table{Name: "jobs", ID: []string{"id"}, FIFO: true, Roles: roles(dialect.Group, dialect.RetryAfter, dialect.Payload)}},
		{"row-lock-two-keys", &dialect.Table{Name: `My "Jobs"`, ID: []string{"tenant", "order"}, Roles: map[dialect.Role]string{
			dialect.Attempt: "select", dialect.Payload: "payload", dialect.Group: "group"}}},
	}
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		s := open(t, db)
		_, locks := s.Dialect().(dialect.RowLock)
		for _, set := range sets {
			if !locks && !set.table.Has(dialect.LockedUntil) {
				continue
			}
			t.Run(set.name, func(t *testing.T) { checkGolden(t, s, db.Name, set.name, set.table) })
		}
	})
}

func checkGolden(t *testing.T, s store.Store, database, name string, table *dialect.Table) {
	create(t, s, table)
	target := &dialect.Table{Name: "dead_letters", ID: table.ID, Roles: table.Roles}
	create(t, s, target)
	d := s.Dialect()
	defer script(t, s, "DROP TABLE "+d.Quote(table.Name))
	defer script(t, s, "DROP TABLE "+d.Quote(target.Name))

	schema := d.Schema(table)
	var text strings.Builder
	fmt.Fprintf(&text, "%s;\n", schema.Table)
	for _, index := range []string{schema.Index, schema.OrderIndex, schema.GroupIndex} {
		if index != "" {
			fmt.Fprintf(&text, "\n%s;\n", index)
		}
	}
	statements := []forms.Named{
		{Name: "describe", Statement: d.Describe(table)},
		{Name: "clock", Statement: d.Clock()},
		{Name: "insert", Statement: d.Insert(table, writable(table))},
		{Name: "count", Statement: d.Count(table, dialect.Selection{})},
		{Name: "read", Statement: d.(dialect.Reader).Read(table)},
	}
	one := anyForm(t, s, table, func(o *forms.Options) {
		o.MaxAttempts, o.DeadTable, o.FIFO, o.Rescan = capOf(table), target, table.FIFO, time.Second
	})
	statements = append(statements, one.Statements()...)
	if table.Has(dialect.Group) {
		all := anyForm(t, s, table, func(o *forms.Options) { o.AllGroups, o.Except, o.FIFO = true, []string{"dead", "late"}, table.FIFO })
		for _, n := range all.Statements() {
			if n.Name == "claim" || n.Name == "groups" || n.Name == "next groups" {
				statements = append(statements, forms.Named{Name: n.Name + " of all groups", Statement: n.Statement})
			}
		}
	}
	for _, n := range statements {
		fmt.Fprintf(&text, "\n-- %s\n%s", n.Name, n.Statement.Golden())
		if err := s.Prepare(t.Context(), &n.Statement); err != nil {
			t.Errorf("prepare %q: %v\n%s", n.Name, err, n.Statement.SQL)
		}
	}
	compareGolden(t, filepath.Join("testdata", database, name+".sql"), text.String())
}

// anyForm is the form that the table takes, reading the group "g".
func anyForm(t *testing.T, s store.Store, table *dialect.Table, change ...func(*forms.Options)) forms.Form {
	t.Helper()
	if table.Has(dialect.LockedUntil) {
		return lease(t, s, table, change...)
	}
	return rowLock(t, s, table, change...)
}

// capOf is a cap where the table can count attempts.
func capOf(t *dialect.Table) int64 {
	if t.Has(dialect.Attempt) {
		return 5
	}
	return 0
}

// writable lists the roles that a message can have a value for.
func writable(t *dialect.Table) []dialect.Role {
	var list []dialect.Role
	for _, r := range []dialect.Role{dialect.Payload, dialect.Group, dialect.Headers, dialect.RetryAfter,
		dialect.Priority, dialect.PartitionKey} {
		if t.Has(r) {
			list = append(list, r)
		}
	}
	return list
}

func compareGolden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs; look at it, then run the test with -update\n%s", path, diff)
	}
}

// TestFormatTimeRoundsUp has no database round or truncate what its column cannot keep.
func TestFormatTimeRoundsUp(t *testing.T) {
	instant := time.Date(2026, 2, 3, 4, 5, 6, 700_000_001, time.FixedZone("east", 3600))
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		d := open(t, db).Dialect()
		for precision, want := range map[int]string{
			0: "2026-02-03 03:05:07", 3: "2026-02-03 03:05:06.701", 6: "2026-02-03 03:05:06.700001",
		} {
			got, _, _ := strings.Cut(d.FormatTime(instant, precision), "+")
			if got != want {
				t.Errorf("precision %d: %s, want %s", precision, got, want)
			}
		}
	})
}
