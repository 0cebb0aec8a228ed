package host

import "github.com/inbox-wasm/inbox-wasm/host/engine"

// cause is why an instance was given up.
type cause uint8

const (
	byTrap cause = iota
	byExit
	byTimeout
	byInterruption
	// byMemory is a growth of memory that was refused: the guest may not have noticed.
	byMemory
	byFreshness
	byCalls
	bySize
	byReload
	byStop

	causeCount
)

var causeNames = [causeCount]string{
	"trap", "exit", "timeout", "interrupted", "memory", "fresh", "recycle_after", "recycle_memory", "reload", "stop",
}

// worn says why the thread's instance is not to be used again after a call, and whether that is so.
func (t *thread) worn(r *engine.Result) (why cause, is bool) {
	h := t.sub.handler
	switch {
	case !r.Reusable:
		return spoilt(r.Call), true
	case h.Instance == "fresh":
		return byFreshness, true
	case h.RecycleAfter > 0 && t.handled >= h.RecycleAfter:
		return byCalls, true
	case h.RecycleMemory > 0 && r.Memory > h.RecycleMemory:
		return bySize, true
	}
	return 0, false
}

// spoilt is why a call has left an instance that cannot be used again.
func spoilt(f engine.Failure) cause {
	switch f {
	case engine.Trap:
		return byTrap
	case engine.Exit:
		return byExit
	case engine.Timeout:
		return byTimeout
	case engine.Interrupted:
		return byInterruption
	default:
		return byMemory
	}
}

// ending is why threads end that are sent home.
func (s *subscription) ending() cause {
	if s.service.Err() != nil {
		return byStop
	}
	return byReload
}
