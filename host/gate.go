package host

import (
	"sync"
	"time"
)

// gate decides which of the threads that claim their own rows may claim when. While claims come back
// full every thread may. Once one has come back short a single thread polls for all of them, and the
// others wait behind it: idle threads cost no more than one.
type gate struct {
	pause          func() time.Duration // between two polls
	wake, stopping <-chan struct{}

	mu      sync.Mutex
	waiting sync.Cond
	full    bool      // the last claim was
	polling bool      // a thread waits to poll, or polls
	next    time.Time // when the next poll is due
	closed  bool
}

func newGate(pause func() time.Duration, wake, stopping <-chan struct{}) *gate {
	g := &gate{pause: pause, wake: wake, stopping: stopping}
	g.waiting.L = &g.mu
	return g
}

// enter waits until the thread may claim, and whether it does so as the one that polls. It is not ok
// once the gate is closed.
func (g *gate) enter() (polls, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for !g.full && g.polling && !g.closed {
		g.waiting.Wait()
	}
	if g.full || g.closed {
		return false, !g.closed
	}
	g.polling = true
	pause := time.Until(g.next)
	g.mu.Unlock()
	g.sleep(pause)
	g.mu.Lock()
	return true, !g.closed
}

// sleep returns after the pause, when a row was written here, or when nothing is to be claimed any more.
func (g *gate) sleep(pause time.Duration) {
	if pause <= 0 {
		return
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-g.wake:
	case <-g.stopping:
	}
}

// leave says how a claim came back, and lets the next thread in: to claim at once after a full one, and
// otherwise to poll when the pause is over.
func (g *gate) leave(polled, full bool, pause time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if polled {
		g.polling = false
	}
	if g.full = full; !full {
		g.next = time.Now().Add(pause)
	}
	g.waiting.Signal()
}

// rest lets nobody claim before the pause is over, unless another claim comes back full.
func (g *gate) rest(pause time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.full, g.next = false, time.Now().Add(pause)
}

// close sends every thread home.
func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	g.waiting.Broadcast()
}
