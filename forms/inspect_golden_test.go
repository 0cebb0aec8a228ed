package forms_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// The statements for operators are goldens as well, and the live server parses each.
func TestOperatorGoldens(t *testing.T) {
	sets := []struct {
		name  string
		table *dialect.Table
	}{
		{"minimal", &dialect.Table{Name: "jobs", ID: []string{"id"}, Roles: roles(dialect.Payload)}},
		{"every-role", everyRole()},
		{"two-keys", &dialect.Table{Name: `My "Jobs"`, ID: []string{"tenant", "order"}, Roles: map[dialect.Role]string{
			dialect.LockedUntil: "Locked Until", dialect.Attempt: "select", dialect.Payload: "payload", dialect.Group: "group"}}},
	}
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		s := open(t, db)
		d := s.Dialect().(dialect.Inspector)
		for _, set := range sets {
			t.Run(set.name, func(t *testing.T) {
				table := set.table
				create(t, s, table)
				target := &dialect.Table{Name: "dead_letters", ID: table.ID, Roles: table.Roles}
				create(t, s, target)
				defer script(t, s, "DROP TABLE "+d.Quote(table.Name))
				defer script(t, s, "DROP TABLE "+d.Quote(target.Name))
				var text strings.Builder
				for _, n := range operatorStatements(d, table, target) {
					if n.Statement.SQL == "" {
						continue
					}
					fmt.Fprintf(&text, "\n-- %s\n%s", n.Name, n.Statement.Golden())
					if err := s.Prepare(t.Context(), &n.Statement); err != nil {
						t.Errorf("prepare %q: %v\n%s", n.Name, err, n.Statement.SQL)
					}
				}
				compareGolden(t, filepath.Join("testdata", db.Name, "operator-"+set.name+".sql"), text.String())
			})
		}
	})
}

func operatorStatements(d dialect.Inspector, t, target *dialect.Table) []forms.Named {
	letters := dialect.Letters{}
	if t.Has(dialect.Group) {
		letters.Groups = 2
	}
	list := []forms.Named{
		{Name: "census", Statement: d.Census(t)},
		{Name: "in work", Statement: d.InWork(t)},
		{Name: "hold due rows", Statement: d.Hold(t, dialect.Where{Letters: letters, State: dialect.RowDue})},
		{Name: "remove", Statement: d.Remove(t)},
		{Name: "revive from a table", Statement: d.ReviveInto(target, t)},
		{Name: "list dead letters of a table of their own", Statement: d.List(t, dialect.Where{Letters: dialect.Letters{All: true}, State: dialect.RowDead})},
	}
	for _, state := range []dialect.RowState{"", dialect.RowDue, dialect.RowDelayed, dialect.RowInWork, dialect.RowDead, dialect.RowProcessed} {
		needs := map[dialect.RowState]dialect.Role{dialect.RowDelayed: dialect.RetryAfter, dialect.RowInWork: dialect.LockedUntil, dialect.RowDead: dialect.Group, dialect.RowProcessed: dialect.ProcessedAt}
		if role, ok := needs[state]; ok && !t.Has(role) {
			continue
		}
		list = append(list, forms.Named{Name: strings.TrimSpace("list " + string(state)), Statement: d.List(t, dialect.Where{Letters: letters, State: state})})
	}
	if t.Has(dialect.Group) {
		list = append(list, forms.Named{Name: "revive", Statement: d.Revive(t, false)})
	}
	if t.Has(dialect.Origin) {
		list = append(list, forms.Named{Name: "revive by origin", Statement: d.Revive(t, true)},
			forms.Named{Name: "count those of an origin", Statement: d.Tally(t, dialect.Where{Letters: letters, State: dialect.RowDead, Group: true, Origin: true})})
	}
	if t.Has(dialect.ProcessedAt) {
		list = append(list, forms.Named{Name: "count old ones", Statement: d.Tally(t, dialect.Where{Letters: letters, State: dialect.RowProcessed, Aged: true})},
			forms.Named{Name: "sweep", Statement: d.Sweep(t)}, forms.Named{Name: "sweep index", Statement: dialect.Statement{SQL: d.SweepIndex(t)}})
	}
	return list
}
