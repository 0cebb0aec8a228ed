package forms_test

import (
	"testing"
	"time"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// late settles in every way, and extends, as the holder of a lease that it has lost, and wants the
// table to stay as it is to the last column.
func late(t *testing.T, s store.Store, l *forms.Lease, tables []*dialect.Table, d *forms.Delivery) {
	t.Helper()
	all := func() string {
		text := ""
		for _, table := range tables {
			text += table.Name + "\n" + content(t, s, table) + "\n"
		}
		return text
	}
	before := all()
	for change, name := range map[forms.Change]string{
		forms.Finish: "finish", forms.Return: "return", forms.MoveToGroup: "move to group", forms.MoveToTable: "move to table",
	} {
		answers := l.Settle(t.Context(), []*forms.Settlement{{Delivery: d, Change: change, Until: time.Now().Add(time.Hour), Uncount: true, Reason: "late"}})
		equal(t, name, states(answers), "lost")
	}
	equal(t, "extend", states(l.Extend(t.Context(), []*forms.Delivery{d})), "lost")
	equal(t, "the tables", all(), before)
}

// TestLateHolder changes nothing after its lease ended and the row was claimed again, finished,
// returned or moved (river#1302, oban#532).
func TestLateHolder(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		table, host := create(t, s, everyRole()), newClock()
		target := create(t, s, &dialect.Table{Name: "dead_letters", ID: table.ID, Roles: table.Roles})
		l := lease(t, s, table, host.use, func(o *forms.Options) { o.DeadTable = target })
		fill(t, s, table, 1)
		tables := []*dialect.Table{table, target}

		first := claimOne(t, l)
		host.advance(afterLease)
		second := claimOne(t, l)
		late(t, s, l, tables, first)
		settle(t, l, forms.Done, back(second))
		late(t, s, l, tables, first)
		late(t, s, l, tables, second)
		third := claimOne(t, l)
		late(t, s, l, tables, second)
		settle(t, l, forms.Done, finish(third))
		late(t, s, l, tables, third)
		late(t, s, l, tables, first)

		fill(t, s, table, 1)
		moved := claimOne(t, l)
		settle(t, l, forms.Done, &forms.Settlement{Delivery: moved, Change: forms.MoveToTable})
		late(t, s, l, tables, moved)
	})
}

// TestHolderWhoseLeaseEndedUnseen still owns its row: nobody else has taken it.
func TestHolderWhoseLeaseEndedUnseen(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		table, host := create(t, s, leased()), newClock()
		l := lease(t, s, table, host.use)
		fill(t, s, table, 2)
		deliveries := claim(t, l, 2)
		host.advance(afterLease)
		settle(t, l, forms.Done, finish(deliveries[0]))
		extend(t, l, forms.Done, deliveries[1])
		equal(t, "claim", payloads(claim(t, l, 1)), "")
	})
}

// TestLateHolderWithinTheSameSecond: where the column keeps whole seconds, two claims may write the
// same expiry, and the attempt tells them apart (delayed_job_active_record#95).
func TestLateHolderWithinTheSameSecond(t *testing.T) {
	whole := map[string]string{"postgres": "timestamptz(0)", "mariadb": "datetime", "sqlite": "TEXT"}
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		s := open(t, db)
		table, host := createAs(t, s, everyRole(), map[string]string{"locked_until": whole[db.Name]}), newClock()
		target := create(t, s, &dialect.Table{Name: "dead_letters", ID: table.ID, Roles: table.Roles})
		l := lease(t, s, table, host.use, func(o *forms.Options) { o.DeadTable = target })
		fill(t, s, table, 1)
		first := claimOne(t, l)
		// Somebody frees the row by hand, and it is claimed again in the same instant.
		script(t, s, "UPDATE jobs SET locked_until = NULL")
		second := claimOne(t, l)
		late(t, s, l, []*dialect.Table{table, target}, first)
		extend(t, l, forms.Done, second)
		late(t, s, l, []*dialect.Table{table, target}, first)
		settle(t, l, forms.Done, finish(second))
	})
}

// TestLateHolderWithoutAnAttempt is told apart by the random digits of the expiry.
func TestLateHolderWithoutAnAttempt(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		table := create(t, s, &dialect.Table{Name: "jobs", ID: []string{"id"}, Roles: roles(dialect.LockedUntil, dialect.Payload)})
		host := newClock()
		l := lease(t, s, table, host.use)
		fill(t, s, table, 1)
		for range 20 {
			first := claimOne(t, l)
			script(t, s, "UPDATE jobs SET locked_until = NULL")
			second := claimOne(t, l)
			equal(t, "the late holder", states(l.Settle(t.Context(), []*forms.Settlement{finish(first)})), "lost")
			settle(t, l, forms.Done, back(second))
		}
	})
}
