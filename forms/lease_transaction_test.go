package forms_test

import (
	"strings"
	"testing"
	"time"

	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

func transactional(o *forms.Options) { o.Transactional = true }

// runIn runs a statement of a delivery's guest.
func runIn(t *testing.T, form forms.Transactional, d *forms.Delivery, sql string) string {
	t.Helper()
	answer, err := form.Run(t.Context(), d, forms.Call{SQL: sql, Limit: 1 << 20})
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return string(answer)
}

// An ack whose transaction was lost just before is no ack: nothing of what the guest wrote is there.
func TestLeaseTransactionLostBeforeTheAck(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		if db.Name == "sqlite" {
			t.Skip("SQLite has no sessions to lose")
		}
		s := open(t, db)
		table := create(t, s, leased())
		script(t, s, "CREATE TABLE notes (note varchar(200))")
		l := lease(t, s, table, transactional)
		fill(t, s, table, 1)
		d := claimOne(t, l)
		runIn(t, l, d, "INSERT INTO notes VALUES ('a')")
		killTransactions(t, db, s)
		l.Extend(t.Context(), []*forms.Delivery{d}) // finds out
		answer, ended := l.End(t.Context(), &forms.Settlement{Delivery: d, Keep: true})
		if !ended || answer.State != forms.RolledBack {
			t.Errorf("the ack ended with %v (%v), %v", answer.State, answer.Err, ended)
		}
	})
}

// The head of a group that is given back inside its transaction rests as any other does.
func TestLeaseTransactionFIFORetryRests(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		table := leased()
		table.FIFO = true
		create(t, s, table)
		l := lease(t, s, table, transactional, func(o *forms.Options) { o.FIFO, o.Rest = true, time.Hour })
		fill(t, s, table, 1)
		d := claimOne(t, l)
		runIn(t, l, d, "SELECT 1")
		if answer, ended := l.End(t.Context(), &forms.Settlement{Delivery: d, Change: forms.Return}); !ended || answer.State != forms.Done {
			t.Fatalf("the retry ended with %v (%v), %v", answer.State, answer.Err, ended)
		}
		if again := claim(t, l, 1); len(again) != 0 {
			t.Error("the head was claimed again at once")
		}
	})
}

// killTransactions ends the sessions of the test's database that have a transaction open.
func killTransactions(t *testing.T, db testdb.Database, s store.Store) {
	t.Helper()
	if db.Name == "postgres" {
		const open = "pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND state = 'idle in transaction'"
		query(t, s, "SELECT pg_terminate_backend(pid)::text FROM "+open)
		met(t, "the sessions have ended", func() bool { return query(t, s, "SELECT pid::text FROM "+open) == "" })
		return
	}
	for _, id := range strings.Fields(query(t, s, "SELECT processlist_id FROM performance_schema.events_transactions_current "+
		"JOIN performance_schema.threads USING (thread_id) WHERE state = 'ACTIVE' AND processlist_db = DATABASE() AND processlist_id <> CONNECTION_ID()")) {
		script(t, s, "KILL "+id)
	}
}
