package forms

import "sync"

// Locks are the advisory locks that a process holds, by database and by the name that the database tells
// them by. It is asked before the database is: a session gets a lock again that it has already. Where
// the database keeps no locks, it is all that keeps them.
type Locks struct {
	mu   sync.Mutex
	held map[string]map[string]bool // names by place
}

// NewLocks is an empty registry, as another process would have it.
func NewLocks() *Locks { return &Locks{held: map[string]map[string]bool{}} }

// processLocks is the registry of this process.
var processLocks = NewLocks()

// take reports whether the lock was free, and takes it.
func (l *Locks) take(place, name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held[place][name] {
		return false
	}
	if l.held[place] == nil {
		l.held[place] = map[string]bool{}
	}
	l.held[place][name] = true
	return true
}

func (l *Locks) free(place, name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if delete(l.held[place], name); len(l.held[place]) == 0 {
		delete(l.held, place)
	}
}

// names adds the names of the locks that are held to a set.
func (l *Locks) names(place string, set map[string]bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for name := range l.held[place] {
		set[name] = true
	}
}
