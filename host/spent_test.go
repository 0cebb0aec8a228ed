package host

import (
	"strings"
	"testing"

	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// oban-bg/oban#1498: a thousand spent rows in front of a good one are moved away, none of them is handled, and
// the good one has its turn.
func TestSpentRowsInFrontOfAGoodOne(t *testing.T) {
	eachForm(t, func(t *testing.T, db testdb.Database, tables string) {
		b := open(t, db, tables+handler(t, "work", "jobs", "max_attempts = 3\ndead_letter = \"dead\""), untilEmpty)
		b.enqueue("jobs", "work", many("trap", 1000)...)
		b.script("UPDATE jobs SET attempt = 4")
		b.enqueue("jobs", "work", "ok")
		b.drain()
		equal(t, "counts", b.counts("work"), Counts{Acked: 1, DeadLettered: 1000})
		equal(t, "calls", b.subscriptions()[0].counters.handled.Load(), 1)
		left := b.rows("jobs WHERE name = 'dead' AND attempt = 4", "payload")
		equal(t, "dead letters", strings.Count(left, "trap\n"), 1000)
	})
}
