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
	fulls   int       // how many claims were
	polling bool      // a thread waits to poll, or polls
	next    time.Time // when the next poll is due
	closed  bool
}

func newGate(pause func() time.Duration, wake, stopping <-chan struct{}) *gate {
	g := &gate{pause: pause, wake: wake, stopping: stopping}
	g.waiting.L = &g.mu
	return g
}

// enter waits until the thread may claim, and whether it does so as the one that polls; seen is for leave. It is
// not ok once the gate is closed.
func (g *gate) enter() (polls bool, seen int, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for !g.full && g.polling && !g.closed {
		g.waiting.Wait()
	}
	if g.full || g.closed {
		return false, g.fulls, !g.closed
	}
	g.polling = true
	pause := time.Until(g.next)
	g.mu.Unlock()
	g.sleep(pause)
	g.mu.Lock()
	return true, g.fulls, !g.closed
}

// look is for a claim that was not let in: what leave has to know of the time before it.
func (g *gate) look() (seen int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.fulls
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
// otherwise to poll when the pause is over. A claim that came back short tells nothing where another has come
// back full since it was let in: it may have looked before the rows were there.
func (g *gate) leave(polled bool, seen int, full bool, pause time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if polled {
		g.polling = false
	}
	switch {
	case full:
		g.full = true
		g.fulls++
	case g.fulls == seen:
		g.full, g.next = false, time.Now().Add(pause)
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
