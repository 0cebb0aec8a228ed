package host

import (
	"strings"
	"testing"

	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// The end of a group's head lets the next row in at once, and a head that keeps its place does not spin.
func TestRowLockFIFODoesNotWaitForThePoll(t *testing.T) {
	eachLocked(t, func(t *testing.T, db testdb.Database) {
		toml := strings.Replace(lockTables, "[tables.jobs]\n", "[tables.jobs]\nfifo = true\n", 1) +
			strings.Replace(handler(t, "work", "jobs", "threads = 4"), "20ms", "1h", 1)
		b := open(t, db, toml)
		stop := b.start()
		payloads := many("ok", 30)
		b.enqueue("jobs", "work", append(payloads, "retry", "ok")...)
		eventually(t, "the rows before the head that stays are done", func() bool {
			c := b.counts("work")
			return c.Acked == 30 && c.Retried > 0
		})
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		// A claim that is on its way when the head comes back may take it once more.
		if c := b.counts("work"); c.Acked != 30 || c.Retried > 4 {
			t.Errorf("%+v", c)
		}
	})
}
