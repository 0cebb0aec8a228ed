package forms_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// TestLostRowsOfAGroup: rows that somebody else has taken or removed keep no other row of their group from its own
// answer, however many claims the group is of, and are left as they are.
func TestLostRowsOfAGroup(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		table := create(t, s, leased())
		l := lease(t, s, table)
		fill(t, s, table, 12)
		first, second := claim(t, l, 6), claim(t, l, 6)
		script(t, s, "DELETE FROM jobs WHERE id = 2")
		script(t, s, "UPDATE jobs SET attempt = attempt + 1 WHERE id = 8")
		group := settlements(append(first, second...), finish)
		group[4].Change, group[10].Change = forms.Return, forms.Return
		want := "done lost done done done done done lost done done done done"
		equal(t, "answers", states(l.Settle(t.Context(), group)), want)
		equal(t, "rows", columns(t, s, table, "payload"), "5\n8\n11")
		equal(t, "the same again", states(l.Settle(t.Context(), group)), strings.TrimSuffix(strings.Repeat("lost ", 12), " "))
	})
}

// TestRefusedRowOfAGroup: a row that the database refuses to remove fails alone.
func TestRefusedRowOfAGroup(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		if s.Dialect().Name() != "SQLite" {
			t.Skip("the trigger is SQLite's")
		}
		table := create(t, s, leased())
		l := lease(t, s, table)
		fill(t, s, table, 4)
		deliveries := claim(t, l, 4)
		script(t, s, "CREATE TRIGGER keep BEFORE DELETE ON jobs WHEN old.id = 3 BEGIN SELECT RAISE(ABORT, 'kept'); END")
		equal(t, "answers", states(l.Settle(t.Context(), settlements(deliveries, finish))), "done done failed done")
		equal(t, "rows", columns(t, s, table, "payload"), "3")
	})
}

// TestGroupInABusyDatabase: while another connection writes, a group changes nothing and is told to try again.
func TestGroupInABusyDatabase(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		if db.Name != "sqlite" {
			t.Skip("others do not lock the whole database")
		}
		s, outside := open(t, db), open(t, db)
		table := create(t, s, leased())
		l := lease(t, s, table)
		fill(t, s, table, 3)
		group := settlements(claim(t, l, 3), finish)
		lock := begin(t, outside)
		bounded, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		equal(t, "meanwhile", states(l.Settle(bounded, group)), "unsent unsent unsent")
		if err := lock.Rollback(); err != nil {
			t.Fatal(err)
		}
		equal(t, "rows", count(t, s, table), "3")
		equal(t, "then", states(l.Settle(t.Context(), group)), "done done done")
	})
}
