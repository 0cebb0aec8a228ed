package forms

import (
	"sync"
	"time"
)

// mark is where the claims of a subscription begin in the claim order: at the last row that the one before took.
// Without it each claim would read again what is in work or gone in front of the queue, all of which an old snapshot
// keeps there. It is a hint: rows that appear in front of it are overlooked for a while, and looked for when a claim
// comes back short, and once in a while anyway.
type mark struct {
	// every is how long rows may be overlooked, 0 where every claim looks at all of them.
	every time.Duration

	mu     sync.Mutex
	set    bool
	at     position
	back   bool      // a row has come back since the last claim began
	looked time.Time // when a claim last looked at every row
}

// position is a row's place in the claim order of a table that is [dialect.Table.Markable].
type position struct {
	retryAfter string // empty for NULL, which comes first
	key        int64
}

// begin starts a claim and says where; ok is false where it has to look at every row. One that leaves out some rows
// for another reason does not count as having done so, and is never asked to.
func (m *mark) begin(now time.Time, partial bool) (at position, ok bool) {
	if m.every == 0 {
		return position{}, false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.back = false
	if m.set && (partial || now.Sub(m.looked) < m.every) {
		return m.at, true
	}
	if !partial {
		m.looked = now
	}
	return position{}, false
}

// end says where a claim has ended, and whether the next one may begin there.
func (m *mark) end(at position, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.set, m.at = ok && !m.back, at
}

// comeBack says that a row can be claimed again.
func (m *mark) comeBack() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.set, m.back = false, true
}
