package forms_test

import (
	"strings"
	"testing"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/forms"
)

// procrastinate#393: a table without an index in claim order is named before it is large.
func TestMissingIndexIsFoundAndItsRemedyHelps(t *testing.T) {
	tables := map[string]*dialect.Table{
		"minimal":    {Name: "jobs", ID: []string{"id"}, Roles: roles(dialect.LockedUntil, dialect.Payload)},
		"grouped":    leased(),
		"every role": everyRole(),
		"two keys": {Name: `My "Jobs"`, ID: []string{"tenant", "order"}, Roles: map[dialect.Role]string{
			dialect.LockedUntil: "Locked Until", dialect.Payload: "payload", dialect.Group: "group"}},
	}
	each(t, func(t *testing.T, s store.Store) {
		for name, table := range tables {
			t.Run(name, func(t *testing.T) {
				script(t, s, s.Dialect().Schema(table).Table)
				defer script(t, s, "DROP TABLE "+s.Dialect().Quote(table.Name))
				describe(t, s, table)
				create := missingIndex(t, s, table)
				if name == "minimal" {
					if create != "" {
						t.Fatalf("the key is the claim order, and yet: %s", create)
					}
					return
				}
				if !strings.Contains(create, "CREATE INDEX") {
					t.Fatalf("nothing is missing: %q", create)
				}
				script(t, s, create)
				if create := missingIndex(t, s, table); create != "" {
					t.Fatalf("the remedy does not help: %s", create)
				}
			})
		}
	})
}

func TestIndexInAnotherOrderDoesNotCount(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		table := leased()
		script(t, s, s.Dialect().Schema(table).Table)
		describe(t, s, table)
		q := s.Dialect().Quote
		script(t, s, "CREATE INDEX other ON jobs ("+q("priority")+", "+q("group")+", "+q("retry_after")+")")
		script(t, s, "CREATE INDEX short ON jobs ("+q("group")+")")
		if missingIndex(t, s, table) == "" {
			t.Fatal("an index in another order was taken for the claim order's")
		}
		script(t, s, "CREATE INDEX fits ON jobs ("+q("group")+", "+q("priority")+", "+q("retry_after")+")")
		if create := missingIndex(t, s, table); create != "" {
			t.Fatalf("an index that fits was not seen: %s", create)
		}
	})
}

// A claim of every group goes in one order across them, which an index that starts with the group has not.
func TestIndexAcrossGroups(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		table := create(t, s, leased())
		all := dialect.Selection{AllGroups: true, Except: 1}
		missing := missingIndexOf(t, s, table, all)
		if missing != s.Dialect().Schema(table).OrderIndex {
			t.Fatalf("%q, want what the schema has: %q", missing, s.Dialect().Schema(table).OrderIndex)
		}
		script(t, s, missing)
		if missing := missingIndexOf(t, s, table, all); missing != "" {
			t.Fatalf("the remedy does not help: %s", missing)
		}
		table.FIFO = true
		script(t, s, "DROP INDEX jobs_order_idx"+map[bool]string{true: " ON jobs"}[s.Dialect().Name() == "MySQL"])
		if missing := missingIndexOf(t, s, table, all); missing != "" {
			t.Fatalf("a FIFO table is claimed from group by group, and yet: %s", missing)
		}
	})
}

// An index that holds the processed rows between those to claim has each claim read past all of them.
func TestIndexHoldsNoProcessedRows(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		table := everyRole()
		script(t, s, s.Dialect().Schema(table).Table)
		describe(t, s, table)
		q := s.Dialect().Quote
		order := q("priority") + ", " + q("retry_after")
		script(t, s, "CREATE INDEX mixed ON jobs ("+q("group")+", "+order+")")
		behind := "CREATE INDEX behind ON jobs (" + q("group") + ", " + q("processed_at") + ", " + order + ")"
		if s.Dialect().Name() == "PostgreSQL" { // which takes no order from behind a column that is NULL
			script(t, s, behind)
			script(t, s, "CREATE INDEX other ON jobs ("+q("group")+", "+order+") WHERE processed_at IS NOT NULL")
			behind = "CREATE INDEX partial ON jobs (" + q("group") + ", " + order + ")\nwhere (\"processed_at\" is null)"
		}
		if missingIndex(t, s, table) == "" {
			t.Fatal("an index that cannot help was taken for the claim order's")
		}
		script(t, s, behind)
		if create := missingIndex(t, s, table); create != "" {
			t.Fatalf("an index that fits was not seen: %s", create)
		}
	})
}

func missingIndex(t *testing.T, s store.Store, table *dialect.Table) string {
	t.Helper()
	return missingIndexOf(t, s, table, dialect.Selection{})
}

func missingIndexOf(t *testing.T, s store.Store, table *dialect.Table, of dialect.Selection) string {
	t.Helper()
	create, err := forms.MissingIndex(t.Context(), s, table, of)
	if err != nil {
		t.Fatal(err)
	}
	return create
}

// A column that may be NULL is ordered by an expression in a claim, which not every index can hold.
func TestIndexOfNullableColumnsCanBeCreated(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		q := s.Dialect().Quote
		script(t, s, "CREATE TABLE jobs (id integer PRIMARY KEY, "+q("group")+" varchar(40), "+q("priority")+" integer, payload varchar(40), locked_until "+
			map[string]string{"PostgreSQL": "timestamptz", "MySQL": "datetime(6)", "SQLite": "text"}[s.Dialect().Name()]+")")
		table := &dialect.Table{Name: "jobs", ID: []string{"id"}, Roles: roles(dialect.Group, dialect.Priority, dialect.Payload, dialect.LockedUntil)}
		describe(t, s, table)
		script(t, s, missingIndex(t, s, table))
		if create := missingIndex(t, s, table); create != "" {
			t.Fatalf("the remedy does not help: %s", create)
		}
	})
}

// Without the claim order's index a claim locks what it takes and no more of the group, where the order is that of
// the primary key: others go on beside it.
func TestClaimWithoutItsIndexLeavesTheOthersRows(t *testing.T) {
	eachRowLock(t, func(t *testing.T, s store.Store) {
		table := &dialect.Table{Name: "jobs", ID: []string{"id"}, Roles: roles(dialect.Group, dialect.Payload)}
		script(t, s, s.Dialect().Schema(table).Table)
		describe(t, s, table)
		fill(t, s, table, 100)
		one, two := rowLock(t, s, table), rowLock(t, s, table)
		first := claim(t, one, 1)
		second := claim(t, two, 1)
		if len(first) != 1 || len(second) != 1 {
			t.Errorf("claimed %d and %d rows, want one each", len(first), len(second))
		}
		giveBack(t, one, first)
		giveBack(t, two, second)
	})
}
