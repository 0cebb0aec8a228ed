package forms_test

import (
	"context"
	"testing"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// payouts is a table whose rows wait for the lock that another program takes on an account.
func payouts(t *testing.T, s store.Store) *dialect.Table {
	table := keyed(t, s, &dialect.Table{Name: "payouts", ID: []string{"id"}, Key: []dialect.KeyPart{{Column: "partition_key"}},
		Roles: roles(dialect.PartitionKey, dialect.Attempt, dialect.Payload)})
	script(t, s, "INSERT INTO payouts (partition_key, payload) VALUES ('7', 'seven'), ('7', 'seven too'), ('8', 'eight'), (NULL, 'none')")
	return table
}

// accountLock is the billing system's lock on an account, and how the queue takes it.
func accountLock(s store.Store) (hold, lock, unlock string) {
	if s.Dialect().Name() == "PostgreSQL" {
		return "SELECT pg_advisory_lock(7)::text", "SELECT pg_try_advisory_lock($1::bigint)", "SELECT pg_advisory_unlock($1::bigint);"
	}
	return "SELECT GET_LOCK('account 7', 5)", "SELECT GET_LOCK(CONCAT('account ', ?), 0)", "SELECT RELEASE_LOCK(CONCAT('account ', ?))"
}

// TestOwnLock waits for another program that holds its own lock on an account, and then proceeds. Rows
// of other accounts go on meanwhile, and so does a row without an account where its key makes a lock.
func TestOwnLock(t *testing.T) {
	eachWithSessions(t, func(t *testing.T, db testdb.Database, s store.Store) {
		table := payouts(t, s)
		hold, lock, unlock := accountLock(s)
		billing, err := second(t, db, 1).Hold(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		released := false
		t.Cleanup(func() {
			if !released {
				_ = billing.Close() // the test has failed before
			}
		})
		run := func(sql string) {
			t.Helper()
			if err := billing.Query(context.WithoutCancel(t.Context()), &dialect.Statement{SQL: sql}, 0, nil, func([][]byte) error { return nil }); err != nil {
				t.Fatal(err)
			}
		}
		run(hold)
		a := advisory(t, s, table, func(o *forms.Options) { o.Lock, o.Unlock, o.Sessions = lock, unlock, 3 })
		before := "eight none"
		if db.Name == "postgres" {
			before = "eight" // the key of the row without an account is no bigint
		}
		d := takes(t, a, 5, before)
		for _, delivery := range d {
			ends(t, a, forms.Done, finish(delivery))
		}
		takes(t, a, 5, "")
		released = true
		if err := billing.Close(); err != nil {
			t.Fatal(err)
		}
		met(t, "the account is free", func() bool {
			d, _ = take(t, a, 5)
			return len(d) > 0
		})
		equal(t, "claimed", payloads(d), "seven")
		takes(t, a, 5, "")
		ends(t, a, forms.Done, finish(d[0]))
		d = takes(t, a, 5, "seven too")
		ends(t, a, forms.Done, finish(d[0]))
	})
}

// TestOwnLockSessions has one session for each delivery: a batch shrinks to the sessions that there are,
// and a lost one loses its own delivery alone.
func TestOwnLockSessions(t *testing.T) {
	eachWithSessions(t, func(t *testing.T, db testdb.Database, s store.Store) {
		table := payouts(t, s)
		script(t, s, "DELETE FROM payouts WHERE partition_key IS NULL")
		script(t, s, "INSERT INTO payouts (partition_key, payload) VALUES ('9', 'nine')")
		_, lock, unlock := accountLock(s)
		a := advisory(t, s, table, func(o *forms.Options) { o.Lock, o.Unlock, o.Sessions = lock, unlock, 2 })
		d := takes(t, a, 5, "seven eight")
		takes(t, a, 5, "")
		ends(t, a, forms.Done, finish(d[0]))
		again := takes(t, a, 1, "seven too")
		if db.Name == "postgres" {
			query(t, s, "SELECT pg_terminate_backend(pid)::text FROM pg_locks WHERE locktype = 'advisory' AND objid = 8")
		} else {
			script(t, s, "KILL "+query(t, s, "SELECT IS_USED_LOCK('account 8')"))
		}
		met(t, "the session is gone", func() bool {
			return states(a.Extend(t.Context(), []*forms.Delivery{d[1], again[0]})) == "lost done"
		})
		// A client reads of its end before the server has freed what its session held.
		met(t, "its lock is free", func() bool {
			if db.Name == "postgres" {
				return query(t, s, "SELECT count(*)::text FROM pg_locks WHERE locktype = 'advisory' AND objid = 8") == "0"
			}
			return query(t, s, "SELECT IS_FREE_LOCK('account 8')") == "1"
		})
		ends(t, a, forms.Lost, finish(d[1]))
		d = takes(t, a, 1, "eight")
		ends(t, a, forms.Done, finish(d[0]), finish(again[0]))
	})
}

// TestOwnUnlockDenied closes the session whose user's unlock says that it did not hold the lock.
func TestOwnUnlockDenied(t *testing.T) {
	eachWithSessions(t, func(t *testing.T, db testdb.Database, s store.Store) {
		table := payouts(t, s)
		script(t, s, "DELETE FROM payouts WHERE partition_key IS NULL OR partition_key = '8'")
		_, lock, unlock := accountLock(s)
		denied := "SELECT 0 FROM (SELECT ? AS k) AS d"
		if db.Name == "postgres" {
			denied = "SELECT $1::text IS NULL"
		}
		a := advisory(t, s, table, func(o *forms.Options) { o.Lock, o.Unlock, o.Sessions = lock, denied, 2 })
		d := takes(t, a, 1, "seven")
		ends(t, a, forms.Done, finish(d[0]))
		b := advisory(t, second(t, db, 4), table, func(o *forms.Options) { o.Lock, o.Unlock, o.Sessions = lock, unlock, 2 })
		met(t, "the lock went with its session", func() bool {
			d, _ = take(t, b, 1)
			return len(d) == 1
		})
		equal(t, "claimed", payloads(d), "seven too")
		closed, err := a.Close()
		if want := (forms.Closed{ConnectionsClosed: 1}); err != nil || closed != want {
			t.Errorf("closed %+v (%v), want %+v", closed, err, want)
		}
	})
}
