// Package goldens tests dialects as text: it builds the statements of every form on tables with few and
// with many roles, as the program would run them, and compares them with files.
package goldens

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/forms"
)

var update = flag.Bool("update", false, "write the golden files")

// Set is a table with a set of roles, which is not described yet.
type Set struct {
	Name  string
	Table *dialect.Table
}

// Sets lists the role sets of a form, whose name stands before theirs, with more roles and a lock key. The
// last but one has no payload, the last goes by the database's clock where its form can.
func Sets(form string, more map[dialect.Role]string, key []dialect.KeyPart) []Set {
	roles := func(list ...dialect.Role) map[dialect.Role]string {
		named := map[dialect.Role]string{}
		for _, r := range list {
			named[r] = r.String()
		}
		return named
	}
	every := roles(dialect.Roles()...)
	delete(every, dialect.LockedUntil)
	sets := []Set{
		{"minimal", &dialect.Table{Name: "jobs", ID: []string{"id"}, Roles: roles(dialect.Payload)}},
		{"counted", &dialect.Table{Name: "jobs", ID: []string{"id"}, Roles: roles(dialect.Payload, dialect.Attempt, dialect.Error)}},
		{"grouped", &dialect.Table{Schema: "queue", Name: "jobs", ID: []string{"id"}, Roles: roles(dialect.Group, dialect.Priority,
			dialect.RetryAfter, dialect.Attempt, dialect.Headers, dialect.Payload, dialect.Error)}},
		{"every-role", &dialect.Table{Name: "jobs", ID: []string{"id"}, Roles: every}},
		{"two-keys", &dialect.Table{Name: `My "Jobs" [1]`, ID: []string{"tenant", "order"}, Roles: map[dialect.Role]string{
			dialect.Attempt: "select", dialect.Payload: "payload", dialect.Group: "group"}}},
		{"row-mode", &dialect.Table{Name: "jobs", ID: []string{"id"}, Roles: roles(dialect.Group, dialect.Attempt, dialect.RetryAfter)}},
		{"clock", &dialect.Table{Name: "jobs", ID: []string{"id"}, Roles: roles(dialect.RetryAfter, dialect.ProcessedAt, dialect.Payload)}},
	}
	for i := range sets {
		t := sets[i].Table
		sets[i].Name = form + "-" + sets[i].Name
		t.Key = key
		t.DatabaseClock = strings.HasSuffix(sets[i].Name, "clock") && more[dialect.LockedUntil] == ""
		for role, column := range more {
			t.Roles[role] = column
		}
	}
	return sets
}

// Text is the schema of a described table and the statements that a program runs on it, with those that
// move its dead letters into the target.
func Text(t *testing.T, d dialect.Dialect, table, target *dialect.Table) (string, []forms.Named) {
	t.Helper()
	schema := d.Schema(table)
	statements := []forms.Named{
		{Name: "describe", Statement: d.Describe(table)},
		{Name: "indexes", Statement: d.Indexes(table)},
		{Name: "clock", Statement: d.Clock()},
		{Name: "insert", Statement: d.Insert(table, writable(table))},
		{Name: "count", Statement: d.Count(table, dialect.Selection{})},
	}
	if r, ok := d.(dialect.Rows); ok && !table.Has(dialect.Payload) {
		statements = append(statements, forms.Named{Name: "insert row", Statement: r.InsertRow(table, nil, table.RowColumns())})
	}
	o := forms.Options{Table: table, DeadTable: target, Lease: 30 * time.Second, Rescan: time.Second, Now: time.Now}
	if table.Has(dialect.Attempt) {
		o.MaxAttempts = 5
	}
	if table.Has(dialect.Group) {
		o.Group, o.DeadGroup = "g", "dead"
	}
	statements = append(statements, Statements(t, d, o)...)
	if table.Has(dialect.Group) {
		o.AllGroups, o.Except = true, []string{"dead", "late"}
		for _, n := range Statements(t, d, o) {
			if n.Name == "claim" || n.Name == "candidates" || n.Name == "take" {
				statements = append(statements, forms.Named{Name: n.Name + " of all groups", Statement: n.Statement})
			}
		}
	}
	if a, ok := d.(dialect.Advisory); ok && table.Key != nil {
		for _, n := range []struct {
			name      string
			statement *dialect.Statement
		}{{"lock settings", a.LockSettings()}, {"session", a.SessionID()}, {"end session", a.EndSession()}} {
			if n.statement != nil {
				statements = append(statements, forms.Named{Name: n.name, Statement: *n.statement})
			}
		}
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s;\n", schema.Table)
	for _, index := range []string{schema.Index, schema.OrderIndex, schema.GroupIndex} {
		if index != "" {
			fmt.Fprintf(&text, "\n%s;\n", index)
		}
	}
	fmt.Fprintf(&text, "\n-- claim index\n%s;\n", d.ClaimIndex(table, dialect.Selection{}).Create)
	for _, n := range statements {
		fmt.Fprintf(&text, "\n-- %s\n%s", n.Name, n.Statement.Golden())
	}
	return text.String(), statements
}

// Statements are those of the form that a table takes. They need no database to be built.
func Statements(t *testing.T, d dialect.Dialect, o forms.Options) []forms.Named {
	t.Helper()
	form, err := forms.New(unconnected{dialect: d}, o)
	if err != nil {
		t.Fatal(err)
	}
	return form.Statements()
}

// unconnected is a store that has nothing but its dialect: whatever else is asked of it panics.
type unconnected struct {
	store.Store
	dialect dialect.Dialect
}

// Dialect implements [store.Store].
func (u unconnected) Dialect() dialect.Dialect { return u.dialect }

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

// Compare compares a text with its golden file in testdata.
func Compare(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".sql")
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

var constant = regexp.MustCompile(`'(?:[^']|'')*'`)

// CheckPlaceholders finds a statement whose placeholders, each the mark with a number, are not those that
// it binds, or first stand in another order than theirs.
func CheckPlaceholders(mark string, s *dialect.Statement) error {
	text := constant.ReplaceAllString(s.SQL, "''")
	if s.IsList() || strings.Contains(text, "?") {
		return fmt.Errorf("a placeholder has no number: %s", s.SQL)
	}
	last := 0
	for _, found := range regexp.MustCompile(regexp.QuoteMeta(mark)+`(\d+)`).FindAllStringSubmatch(text, -1) {
		switch number, err := strconv.Atoi(found[1]); {
		case err != nil:
			return err
		case number == last+1:
			last = number
		case number > last:
			return fmt.Errorf("%s%d comes after %s%d: %s", mark, number, mark, last, s.SQL)
		}
	}
	if last != len(s.Params) {
		return fmt.Errorf("%d placeholders for %d values: %s", last, len(s.Params), s.SQL)
	}
	return nil
}
