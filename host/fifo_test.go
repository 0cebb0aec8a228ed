package host

import (
	"testing"
	"time"

	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// inGroups makes the jobs table keep the order of its groups.
const inGroups = "fifo = true\n"

// fifoTables are the tables with groups in order, under a lease or by row locks.
func fifoTables(form string) string {
	const jobs = "[tables.jobs]\nid = \"id\"\ngroup = \"name\"\nattempt = \"attempt\"\nretry_after = \"retry_after\"\npayload = \"payload\"\nerror = \"error\"\n" + inGroups
	if form == "lease" {
		return jobs + "locked_until = \"locked_until\"\n"
	}
	return jobs
}

// A head that is given back at once, again and again, does not spin, and goes to the dead letters in the
// end; the rows of other groups are handled meanwhile.
func TestFIFORetriedHeadRests(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		for _, form := range []string{"lease", "row lock"} {
			if db.Name == "sqlite" && form == "row lock" {
				continue
			}
			t.Run(form, func(t *testing.T) {
				b := open(t, testdb.Database{Name: db.Name, URL: fresh(t, db)}, fifoTables(form)+
					handler(t, "work", "jobs", "group = \"*\"\nthreads = 2\nmax_attempts = 3\ndead_letter = \"dead\""), untilEmpty)
				b.enqueue("jobs", "bad", "retry", "ok")
				b.enqueue("jobs", "good", many("ok", 20)...)
				start := time.Now()
				b.drain()
				equal(t, "counts", b.counts("work"), Counts{Acked: 21, DeadLettered: 1, Retried: 2})
				if took := time.Since(start); took < 2*20*time.Millisecond {
					t.Errorf("the head rested twice in %v", took)
				}
				equal(t, "rows", b.rows("jobs", "payload", "name", "attempt"), "retry|dead|3\n")
			})
		}
	})
}

// fresh is another database of the same kind.
func fresh(t *testing.T, db testdb.Database) string {
	t.Helper()
	switch db.Name {
	case "postgres":
		return testdb.Postgres(t)
	case "mariadb":
		return testdb.MariaDB(t)
	default:
		return testdb.SQLite(t)
	}
}
