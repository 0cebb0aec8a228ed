package host

import (
	"strings"
	"testing"

	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// keyedTables is a queue whose rows share a key where they share a customer.
const keyedTables = `
[tables.jobs]
id = "id"
group = "name"
partition_key = "customer"
attempt = "attempt"
retry_after = "retry_after"
advisory_lock = "jobs-{customer}"
payload = "payload"
error = "error"
`

func ofCustomer(customer string, payloads ...string) []forms.Message {
	list := messages("work", payloads)
	for i := range list {
		list[i].PartitionKey = &customer
	}
	return list
}

// The next row of a key is claimed when its last one is settled, without waiting for a poll.
func TestAdvisoryKeyGoesOnAtOnce(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		t.Parallel()
		hourly := strings.Replace(handler(t, "work", "jobs", "threads = 4"), `"20ms"`, `"1h"`, 1)
		b := open(t, db, keyedTables+hourly)
		b.write("jobs", ofCustomer("a", many("ok", 30)...)...)
		b.write("jobs", ofCustomer("b", many("ok", 5)...)...)
		stop := b.start()
		eventually(t, "every row is acked", func() bool { return b.counts("work").Acked == 35 })
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		equal(t, "rows", b.rows("jobs", "payload"), "")
		if b.log.count("the locks are released") != 1 {
			t.Error("the stop does not say what was released")
		}
	})
}

// The session ends in the middle: its guest is interrupted and its row is delivered again, with one more
// attempt.
func TestAdvisoryLostSessionInterruptsItsGuest(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		if db.Name == "sqlite" {
			t.Skip("its locks are the process's")
		}
		t.Parallel()
		b := open(t, db, "[runtime]\ndrain_timeout = \"10ms\"\n"+keyedTables+handler(t, "work", "jobs", "timeout = \"1m\""))
		b.write("jobs", ofCustomer("a", "loop")...)
		b.start()
		eventually(t, "the row is in work", func() bool { return b.subscriptions()[0].settler.inHand() == 1 })
		if db.Name == "postgres" {
			b.query("SELECT pg_terminate_backend(pid)::text FROM pg_locks WHERE locktype = 'advisory' AND " +
				"database = (SELECT oid FROM pg_database WHERE datname = current_database())")
		} else {
			b.script("KILL " + strings.TrimSpace(b.query("SELECT IS_USED_LOCK(CONCAT(DATABASE(), '.jobs-a'))")))
		}
		eventually(t, "the guest is interrupted", func() bool { return b.counts("work").Lost == 1 })
		eventually(t, "the row is in work again", func() bool { return b.rows("jobs", "attempt") == "3\n" })
	})
}

// A second process on one file is refused.
func TestAdvisoryOnSQLiteServesAlone(t *testing.T) {
	db := onSQLite(t)
	b := open(t, db, keyedTables+handler(t, "work", "jobs", ""))
	b.start()
	eventually(t, "it runs", func() bool { return b.subscriptions()[0].emptyClaims.Load() > 0 })
	// Another service of this process shares the registry of its locks.
	two := reopen(t, parse(t, db, keyedTables+handler(t, "work", "jobs", "")), untilEmpty)
	two.drain()
}
