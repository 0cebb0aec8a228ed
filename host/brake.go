package host

import (
	"log/slog"
	"sync"
	"time"
)

// brake slows claims down while the database refuses every settlement, for want of a right or a column:
// rows would be handled again and again, and their attempts spent, for nothing. A settlement that takes
// effect releases it.
type brake struct {
	log *slog.Logger
	now func() time.Time

	mu    sync.Mutex
	pause time.Duration // the last one; 0 where the brake is off
	until time.Time     // what is refused before is old news
	next  time.Time     // nothing is claimed before
}

const (
	firstPause   = 100 * time.Millisecond
	longestPause = 30 * time.Second
)

// press records a refused settlement. What is refused during a pause belongs to the claims before it.
func (b *brake) press() {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	if now.Before(b.until) {
		return
	}
	b.pause = min(max(2*b.pause, firstPause), longestPause)
	b.until = now.Add(b.pause)
	b.next = b.until
	b.log.Error("the database refuses what handlers have come to: claims pause, and then take one row at a time", "pause", b.pause)
}

// release records a settlement that took effect.
func (b *brake) release() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.pause > 0 {
		b.pause, b.until, b.next = 0, time.Time{}, time.Time{}
		b.log.Info("settlements work again")
	}
}

// on reports whether claims pause.
func (b *brake) on() bool { return b.length() > 0 }

// length is how long the pauses of the claims are, 0 where they have none.
func (b *brake) length() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.pause
}

// left is how long nothing is to be claimed. Where that is 0, the caller may claim once: with trial one row, and
// the next one a pause later, whether or not the first has been settled by then.
func (b *brake) left() (pause time.Duration, trial bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.pause == 0 {
		return 0, false
	}
	now := b.now()
	if pause := b.next.Sub(now); pause > 0 {
		return pause, true
	}
	b.next = now.Add(b.pause)
	return 0, true
}
