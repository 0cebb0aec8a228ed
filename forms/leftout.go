package forms

import (
	"slices"
	"sync"
	"time"
)

// leftOut remembers the rows that this process claims no more for a while, where no column of the row
// hides it: rows that a handler gave back, and rows whose settlement was refused.
type leftOut struct {
	mu   sync.Mutex
	rows map[string]leftRow
}

type leftRow struct {
	id    ID
	until time.Time
	// refused says that the database refused the row's settlement.
	refused bool
}

// maxLeftOut bounds the rows that a claim leaves out: each is a term of its condition. Beyond it the
// row that waits the shortest is let in early.
const maxLeftOut = 512

func (l *leftOut) add(row leftRow) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rows[row.id.mapKey()] = row
	if len(l.rows) <= maxLeftOut {
		return
	}
	first := ""
	for key, r := range l.rows {
		if first == "" || r.until.Before(l.rows[first].until) {
			first = key
		}
	}
	delete(l.rows, first)
}

// list is the rows that are left out at that time, and forgets the others. A refused row is remembered
// for the delivery that follows.
func (l *leftOut) list(now time.Time) []ID {
	l.mu.Lock()
	defer l.mu.Unlock()
	var ids []ID
	for key, r := range l.rows {
		switch {
		case r.until.After(now):
			ids = append(ids, r.id)
		case !r.refused:
			delete(l.rows, key)
		}
	}
	return ids
}

// waits reports whether a row is left out at that time.
func (l *leftOut) waits(id ID, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.rows[id.mapKey()].until.After(now)
}

// take forgets a row and reports whether its last settlement was refused.
func (l *leftOut) take(id ID) (refused bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.rows) == 0 {
		return false
	}
	key := id.mapKey()
	refused = l.rows[key].refused
	delete(l.rows, key)
	return refused
}

// leftOutLength is the length at which n rows are left out, so that few different texts reach the
// database.
func leftOutLength(n int) int {
	lengths := []int{0, 1, 8, 64, maxLeftOut}
	i, _ := slices.BinarySearch(lengths, n)
	return lengths[i]
}
