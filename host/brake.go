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
	until time.Time
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
	b.log.Error("the database refuses what handlers have come to: claims pause, and then take one row at a time", "pause", b.pause)
}

// release records a settlement that took effect.
func (b *brake) release() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.pause > 0 {
		b.pause, b.until = 0, time.Time{}
		b.log.Info("settlements work again")
	}
}

// left is how much of a pause is left, and whether the next claim is a trial of one row.
func (b *brake) left() (pause time.Duration, trial bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return max(b.until.Sub(b.now()), 0), b.pause > 0
}
