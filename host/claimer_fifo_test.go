package host

import (
	"strings"
	"testing"

	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// The end of a group's head lets the next row in at once in the lease form too, and a head that keeps its
// place does not spin.
func TestLeaseFIFODoesNotWaitForThePoll(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		t.Parallel()
		b := open(t, db, fifoTables("lease")+strings.Replace(handler(t, "work", "jobs", "group = \"*\"\nthreads = 4"), "20ms", "1h", 1))
		stop := b.start()
		b.enqueue("jobs", "a", append(many("ok", 30), "retry", "ok")...)
		eventually(t, "the rows before the head that stays are done", func() bool {
			c := b.counts("work")
			return c.Acked == 30 && c.Retried > 0
		})
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		// A claim that is on its way when the head comes back may take it once more.
		if c := b.counts("work"); c.Acked != 30 || c.Retried > 2 {
			t.Errorf("%+v", c)
		}
	})
}
