package host

import (
	"testing"
	"time"
)

// A claim that looked before rows were written, and comes back after another has found some, lets nobody wait for
// the next poll.
func TestAStaleShortClaimStopsNoFullOnes(t *testing.T) {
	g := newGate(nil, nil, nil)
	_, stale, _ := g.enter()
	g.leave(true, stale, true, time.Hour) // another's, which is full
	g.leave(false, stale, false, time.Hour)
	if polls, seen, ok := g.enter(); polls || !ok {
		t.Error("the next thread waits for the poll")
	} else if g.leave(false, seen, false, time.Hour); g.full {
		t.Error("a short claim of its own does not end the full ones")
	}
}
