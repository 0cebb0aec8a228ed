package forms

import (
	"sync"
	"time"
)

// resting are the keys whose first row has failed and has no column that could hide it: this process
// leaves them alone until the row's time has come, so that it neither spins nor passes the row over for
// a later one of its key.
type resting struct {
	mu    sync.Mutex
	names map[string]time.Time
}

// maxResting bounds what a look for candidates has to leave out. Beyond it the key that rests the shortest
// is let in early; those whose time has come are the first to go.
const maxResting = 2048

// add lets a key rest.
func (r *resting) add(name string, until time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.names == nil {
		r.names = map[string]time.Time{}
	}
	if r.names[name] = until; len(r.names) <= maxResting {
		return
	}
	first := name
	for other, t := range r.names {
		if t.Before(r.names[first]) {
			first = other
		}
	}
	delete(r.names, first)
}

// collect adds the names of the keys that rest to a set, and forgets the others.
func (r *resting) collect(now time.Time, set map[string]bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, until := range r.names {
		if until.After(now) {
			set[name] = true
		} else {
			delete(r.names, name)
		}
	}
}

// has reports whether a key rests at that time.
func (r *resting) has(name string, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.names[name].After(now)
}
