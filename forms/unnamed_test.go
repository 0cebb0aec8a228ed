package forms_test

import (
	"testing"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// nullableKey creates a table whose key takes NULL, with rows that have no usable key in front of two others.
// It answers how many they are.
func nullableKey(t *testing.T, s store.Store, table *dialect.Table) int64 {
	t.Helper()
	q, lease := s.Dialect().Quote, ""
	if table.Has(dialect.LockedUntil) {
		lease = ", locked_until " + map[string]string{"PostgreSQL": "timestamptz", "MySQL": "datetime(6)", "SQLite": "text"}[s.Dialect().Name()]
	}
	key := map[string]string{"PostgreSQL": "text UNIQUE", "MySQL": "varchar(40) UNIQUE", "SQLite": "text PRIMARY KEY"}[s.Dialect().Name()]
	script(t, s, "CREATE TABLE jobs (id "+key+", "+q("group")+" varchar(40) NOT NULL, payload varchar(40)"+lease+")")
	none := int64(3)
	script(t, s, "INSERT INTO jobs (id, "+q("group")+", payload) VALUES (NULL, 'g', 'none'), (NULL, 'g', 'none'), (NULL, 'g', 'none'), ('a', 'g', 'a'), ('b', 'g', 'b')")
	if s.Dialect().Name() == "SQLite" { // whose columns take values of every type
		script(t, s, "INSERT INTO jobs (id, "+q("group")+", payload) VALUES (x'00', 'g', 'none')")
		none++
	}
	describe(t, s, table)
	return none
}

// TestRowsWithoutAKey: a row that no settlement would find is not claimed, keeps nothing behind it waiting, and
// is counted for a report.
func TestRowsWithoutAKey(t *testing.T) {
	tables := map[string]func() *dialect.Table{
		"lease":      func() *dialect.Table { return &dialect.Table{Roles: roles(dialect.LockedUntil)} },
		"fifo lease": func() *dialect.Table { return &dialect.Table{Roles: roles(dialect.LockedUntil), FIFO: true} },
		"row lock":   func() *dialect.Table { return &dialect.Table{Roles: roles()} },
		"advisory":   func() *dialect.Table { return &dialect.Table{Roles: roles(), Key: []dialect.KeyPart{{Column: "id"}}} },
	}
	for name, of := range tables {
		t.Run(name, func(t *testing.T) {
			testdb.Each(t, func(t *testing.T, db testdb.Database) {
				s := open(t, db)
				if _, ok := s.Dialect().(dialect.RowLock); !ok && name == "row lock" {
					t.Skip("no row locks")
				}
				table := of()
				table.Name, table.ID = "jobs", []string{"id"}
				table.Roles[dialect.Group], table.Roles[dialect.Payload] = "group", "payload"
				none := nullableKey(t, s, table)
				n, err := forms.Unnamed(t.Context(), s, table)
				if err != nil || n != none {
					t.Errorf("%d rows have no key (%v), want %d", n, err, none)
				}
				fifo := func(o *forms.Options) { o.FIFO = table.FIFO }
				var form forms.Form
				if table.Key != nil {
					form = advisory(t, s, table, fifo)
				} else {
					form = anyForm(t, s, table, fifo)
				}
				for _, want := range []string{"a", "b"} {
					d := takes(t, form, 1, want)
					ends(t, form, forms.Done, finish(d[0]))
				}
				takes(t, form, 1, "")
				counts, err := form.Waiting(t.Context())
				if err != nil || counts.Due != 0 {
					t.Errorf("%+v rows wait (%v), want none", counts, err)
				}
			})
		})
	}
}
