package host

import (
	"sync"

	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/host/engine"
)

// lone remembers the rows that a handler of batches is given one a call: those without an outcome of
// their own in a call that ended abnormally. One of them broke it, and alone it breaks nothing else.
//
// The memory is this process's and bounded. What another process learnt, and what a crash ended, is not
// in it: so a row on its last attempt is alone too, lest it be given up for what another row did.
type lone struct {
	mu   sync.Mutex
	rows map[string]struct{}
}

// maxLone bounds the memory. Beyond it any row is forgotten, and shares a call once more.
const maxLone = 10_000

// learn takes a call's result into account for a row that goes back to its queue, or leaves it.
func (l *lone) learn(d *forms.Delivery, r *engine.Result, returns bool) {
	key := d.ID.String()
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.Failure == engine.None || !returns {
		delete(l.rows, key)
		return
	}
	if l.rows == nil {
		l.rows = map[string]struct{}{}
	}
	if len(l.rows) >= maxLone {
		for any := range l.rows {
			delete(l.rows, any)
			break
		}
	}
	l.rows[key] = struct{}{}
}

// has reports whether a row is to be alone.
func (l *lone) has(d *forms.Delivery) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.rows) == 0 {
		return false
	}
	_, found := l.rows[d.ID.String()]
	return found
}

// alone reports whether a row shares its call with no other.
func (s *subscription) alone(d *forms.Delivery) bool {
	return s.handler.Batch > 1 && (d.Attempt > 1 && s.policy.spent(d) || s.lone.has(d))
}
