package forms_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// TestAdvisoryGoldens renders every statement of the advisory lock form, compares it with its golden file
// and has the live server parse it.
func TestAdvisoryGoldens(t *testing.T) {
	every := everyRole()
	delete(every.Roles, dialect.LockedUntil)
	every.Key = []dialect.KeyPart{{Literal: "{jobs}'\\-"}, {Column: "partition_key"}, {Literal: "-"}, {Column: "id"}}
	sets := []struct {
		name  string
		table *dialect.Table
	}{
		{"advisory-minimal", &dialect.Table{Name: "jobs", ID: []string{"id"}, Key: []dialect.KeyPart{{Literal: "jobs-"}, {Column: "id"}},
			Roles: roles(dialect.Payload)}},
		{"advisory", channels()},
		{"advisory-every-role", every},
		{"advisory-two-keys", &dialect.Table{Name: `My "Jobs"`, ID: []string{"tenant", "order"}, Key: []dialect.KeyPart{{Column: "a b"}},
			Roles: map[dialect.Role]string{dialect.Attempt: "select", dialect.Payload: "payload", dialect.Group: "group"}}},
	}
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		s := open(t, db)
		for _, set := range sets {
			t.Run(set.name, func(t *testing.T) { checkAdvisoryGolden(t, s, db.Name, set.name, set.table) })
		}
	})
}

func checkAdvisoryGolden(t *testing.T, s store.Store, database, name string, table *dialect.Table) {
	create(t, s, table)
	target := &dialect.Table{Name: "dead_letters", ID: table.ID, Key: table.Key, Roles: table.Roles}
	create(t, s, target)
	d := s.Dialect().(dialect.Advisory)
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
	options := forms.Options{Table: table, DeadTable: target, MaxAttempts: capOf(table)}
	if table.Has(dialect.Group) {
		options.DeadGroup = "dead"
	}
	var statements []forms.Named
	form := func(suffix string, o forms.Options, keep ...string) {
		a, err := forms.NewAdvisory(s, o)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range a.Statements() {
			if len(keep) == 0 || strings.Contains(strings.Join(keep, " "), n.Name) {
				statements = append(statements, forms.Named{Name: n.Name + suffix, Statement: n.Statement})
			}
		}
	}
	form("", options)
	if table.Has(dialect.Group) {
		all := options
		all.AllGroups, all.Except = true, []string{"dead", "late"}
		form(" of all groups", all, "candidates", "take")
	}
	own := options
	own.Lock, own.Unlock = "SELECT 1 WHERE ? = '1'", "SELECT 1 WHERE ? = '1';"
	if database == "postgres" {
		own.Lock, own.Unlock = "SELECT pg_try_advisory_lock($1::bigint)", "SELECT pg_advisory_unlock($1::bigint);"
	}
	form(" of the user", own, "lock", "unlock")
	for name, statement := range map[string]*dialect.Statement{"settings": d.LockSettings(), "session": d.SessionID(), "end session": d.EndSession()} {
		if statement != nil {
			if err := s.Prepare(t.Context(), statement); err != nil && database == "postgres" {
				// MariaDB prepares neither SET nor KILL with a parameter; other tests run them.
				t.Errorf("prepare %q: %v", name, err)
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
