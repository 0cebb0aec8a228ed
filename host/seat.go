package host

import (
	"sync/atomic"
	"time"
)

// seat is what others may see of a thread at work.
type seat struct {
	claim, settlement flight
	// deadline is that of the thread's call, as of the host's clock since the process started, 0 between calls.
	deadline atomic.Int64
	// memory is the size of the thread's instance after its last call, 0 without one.
	memory atomic.Int64
	_      [32]byte // keeps seats of two threads out of one line of the cache
}

// overdue is for how long the thread has been in a call that should have ended, 0 where it is in none.
func (s *seat) overdue(now time.Duration) time.Duration {
	deadline := time.Duration(s.deadline.Load())
	if deadline == 0 {
		return 0
	}
	return max(0, now-deadline)
}

// grown notes the size of the thread's instance.
func (s *seat) grown(memory int64) {
	if s.memory.Load() != memory {
		s.memory.Store(memory)
	}
}
