package host

import (
	"testing"
	"time"

	"github.com/inbox-wasm/inbox-wasm/host/config"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

func TestAllowance(t *testing.T) {
	now := time.Now()
	clock := func() time.Time { return now }
	take := func(a *allowance, n, want int, wait time.Duration) {
		t.Helper()
		if got, w := a.take(n); got != want || w != wait {
			t.Errorf("%d are taken, %v is to be waited, want %d, %v", got, w, want, wait)
		}
	}
	a := newAllowance(config.Rate{Count: 20, Per: 2 * time.Second}, clock)
	take(a, 100, 10, 0) // a second's worth
	take(a, 100, 0, 100*time.Millisecond)
	now = now.Add(250 * time.Millisecond)
	take(a, 1, 1, 0)
	take(a, 5, 1, 0)
	take(a, 5, 0, 50*time.Millisecond)
	a.give(3)
	take(a, 5, 3, 0)
	a.give(100)
	take(a, 100, 10, 0)
	now = now.Add(time.Hour)
	take(a, 100, 10, 0)
	now = now.Add(-time.Hour) // a clock that goes back takes nothing away
	take(a, 1, 0, 100*time.Millisecond)

	slow := newAllowance(config.Rate{Count: 6, Per: time.Minute}, clock)
	take(slow, 5, 1, 0)
	take(slow, 5, 0, 10*time.Second)

	var none *allowance
	take(none, 7, 7, 0)
	none.give(1)
	if newAllowance(config.Rate{}, clock) != nil {
		t.Error("no limit is a limit")
	}
}

// No more rows are delivered than the rate allows, in every form, and all of them in the end.
func TestRateLimit(t *testing.T) {
	eachForm(t, func(t *testing.T, db testdb.Database, tables string) {
		const rows, perSecond = 60, 25
		b := open(t, db, tables+handler(t, "work", "jobs", `threads = 3
rate_limit = "25/s"`), untilEmpty)
		b.enqueue("jobs", "work", many("ok", rows)...)
		began := time.Now()
		b.drain()
		// The first second's worth comes at once.
		if least := (rows - perSecond) * time.Second / perSecond; time.Since(began) < least {
			t.Errorf("%d rows took %v, and may take %v at least", rows, time.Since(began), least)
		}
		equal(t, "counts", b.counts("work").Acked, rows)
	})
}
