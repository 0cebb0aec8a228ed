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
		b.start()
		payloads := many("ok", 30)
		b.enqueue("jobs", "work", append(payloads, "retry", "ok")...)
		eventually(t, "the rows before the head that stays are done", func() bool {
			c := b.counts("work")
			return c.Acked == 30 && c.Retried == 1
		})
		equal(t, "rows", b.rows("jobs", "payload", "attempt"), "ok|1\nretry|2\n")
	})
}
