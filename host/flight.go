package host

import (
	"sync/atomic"
	"time"
)

// processStart is where the clock of flights begins, which nobody sets.
var processStart = time.Now()

// elapsed is the time of the clock of flights. It is never 0.
func elapsed() time.Duration { return since(time.Now()) }

// since is a time by the clock of flights.
func since(t time.Time) time.Duration { return t.Sub(processStart) + 1 }

// flight is something that may hang, for others to see since when it has been on its way.
type flight struct{ since atomic.Int64 }

// start says that it is on its way, and when that began.
func (f *flight) start() time.Duration {
	now := elapsed()
	f.since.Store(int64(now))
	return now
}

// land says that it has come to its end.
func (f *flight) land() { f.since.Store(0) }

// lasts is for how long it has been on its way by then, 0 where it is not.
func (f *flight) lasts(now time.Duration) time.Duration {
	since := time.Duration(f.since.Load())
	if since == 0 {
		return 0
	}
	return now - since
}
