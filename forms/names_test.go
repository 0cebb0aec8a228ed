package forms_test

import (
	"strings"
	"testing"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// exercise runs every statement of the form on a table and its target once.
func exercise(t *testing.T, s store.Store, table, target *dialect.Table) {
	t.Helper()
	l := lease(t, s, table, deadTable(target))
	for _, n := range l.Statements() {
		if err := s.Prepare(t.Context(), &n.Statement); err != nil {
			t.Errorf("prepare %s: %v", n.Name, err)
		}
	}
	fill(t, s, table, 5)
	deliveries := claim(t, l, 10)
	equal(t, "claim", payloads(deliveries), "1 2 3 4 5")
	extend(t, l, forms.Done, deliveries...)
	settle(t, l, forms.Done, finish(deliveries[0]), back(deliveries[1]), toGroup(deliveries[2]), toTable(deliveries[3]),
		&forms.Settlement{Delivery: deliveries[4], Change: forms.Return, Reason: "snoozed", Uncount: true})
	settle(t, l, forms.Lost, settlements(deliveries, finish)...)
	equal(t, "rows", columns(t, s, table, table.Roles[dialect.Payload], table.Roles[dialect.Group]), "2|g\n3|dead\n5|g")
	equal(t, "dead letters", columns(t, s, target, target.Roles[dialect.Payload], target.Roles[dialect.Group]), "4|g")
	if w, err := l.Waiting(t.Context()); err != nil || w.Due != 2 {
		t.Errorf("waiting %+v (%v)", w, err)
	}
}

// named is a table of a name, whose columns are named by a function of their roles.
func named(name string, column func(string) string) *dialect.Table {
	table := &dialect.Table{Name: name, ID: []string{column("id")}, Roles: map[dialect.Role]string{}}
	for r := range leased().Roles {
		table.Roles[r] = column(r.String())
	}
	return table
}

// TestNamesThatNeedQuotes: of tables and of columns (pg-boss#859).
func TestNamesThatNeedQuotes(t *testing.T) {
	tables := map[string]func() (table, target *dialect.Table){
		"reserved words": func() (table, target *dialect.Table) {
			words := map[string]string{"id": "order", "group": "group", "priority": "select", "retry_after": "when", "attempt": "count",
				"locked_until": "token", "headers": "values", "payload": "table", "error": "n"}
			column := func(role string) string { return words[role] }
			return named("Order", column), named("user", column)
		},
		"the statements' own names": func() (table, target *dialect.Table) {
			words := map[string]string{"id": "h", "group": "q", "priority": "k0", "retry_after": "n", "attempt": "token",
				"locked_until": "count", "headers": "ordinality", "payload": "ctid_", "error": "key"}
			column := func(role string) string { return words[role] }
			return named("q", column), named("h", column)
		},
		"punctuation": func() (table, target *dialect.Table) {
			column := func(role string) string { return role + " \"`'\\?$1%/*list*/-- ü" }
			return named("My \"Jobs\"`'\\ ?.$1;--/*list*/", column), named("ü €", column)
		},
		"63 bytes": func() (table, target *dialect.Table) {
			column := func(role string) string { return role + strings.Repeat("x", 63-len(role)) }
			return named(strings.Repeat("j", 63), column), named(strings.Repeat("d", 63), column)
		},
	}
	for name, make := range tables {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, s store.Store) {
				table, target := make()
				exercise(t, s, create(t, s, table), create(t, s, target))
			})
		})
	}
}

// TestTableOfAnotherSchema is found by its full name, also beside one of the same name.
func TestTableOfAnotherSchema(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		s := open(t, db)
		var schema string
		switch db.Name {
		case "postgres":
			schema = `My "Schema".x`
			script(t, s, `CREATE SCHEMA "My ""Schema"".x"`)
		case "mariadb":
			schema = query(t, s, "SELECT DATABASE()") + "_my `schema`.x"
			name := s.Dialect().Quote(schema)
			script(t, s, "CREATE DATABASE "+name)
			t.Cleanup(func() { query(t, s, "DROP DATABASE "+name) })
		default:
			t.Skip("an attached database belongs to one connection")
		}
		other := create(t, s, &dialect.Table{Name: "jobs", ID: []string{"id"}, Roles: roles(dialect.Payload)})
		table, target := leased(), leased()
		table.Schema, target.Schema, target.Name = schema, schema, "dead_letters"
		exercise(t, s, create(t, s, table), create(t, s, target))
		equal(t, "the other table", count(t, s, other), "0")
	})
}
