package forms

import (
	"container/heap"
	"sync"
	"time"
)

// window is what claims of the advisory lock form have read ahead: rows that looked claimable, by their keys, of which
// each lends one row at a time. A row in it is a hint, which the take of the row confirms. So a key with many rows costs
// one look at them and not one for each.
type window struct {
	mu    sync.Mutex
	keys  map[string]*waitingKey // that have rows, by the names of their locks
	ready readyKeys
	next  int // the place of the next row that is read
	rows  int // of all keys

	since time.Time // when the oldest row was read
	// hungry says that the rows of a key that had several have run out, so that there may be more of them.
	hungry bool
	// dry is until when looks are not worth their while: the last one found little, and took long.
	dry time.Time
}

// waitingKey is a key with the rows of it that were read, in claim order.
type waitingKey struct {
	name  string
	rows  []candidate
	many  bool // it had several rows at once
	index int  // in the heap, -1 where the key is held
}

// candidate is a row that looked claimable when it was read.
type candidate struct {
	id   ID
	lock keyLock
	// last says that the row is on its last attempt.
	last bool
}

// readyKeys is a heap by the place of the keys' first rows.
type readyKeys []*waitingKey

func (r readyKeys) Len() int           { return len(r) }
func (r readyKeys) Less(i, j int) bool { return r[i].rows[0].lock.place < r[j].rows[0].lock.place }
func (r readyKeys) Swap(i, j int) {
	r[i], r[j] = r[j], r[i]
	r[i].index, r[j].index = i, j
}

// Push implements [heap.Interface].
func (r *readyKeys) Push(x any) {
	k := x.(*waitingKey)
	k.index = len(*r)
	*r = append(*r, k)
}

// Pop implements [heap.Interface].
func (r *readyKeys) Pop() any {
	last := len(*r) - 1
	k := (*r)[last]
	(*r)[last] = nil
	*r = (*r)[:last]
	k.index = -1
	return k
}

// add puts rows behind those that are there. The keys of none of them are held by this form, or have rows in the window.
func (w *window) add(now time.Time, rows []candidate) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.keys == nil {
		w.keys = map[string]*waitingKey{}
	}
	if len(w.keys) == 0 {
		w.since = now
	}
	w.rows += len(rows)
	for i := range rows {
		row := &rows[i]
		row.lock.place = w.next
		w.next++
		k := w.keys[row.lock.name]
		if k == nil {
			k = &waitingKey{name: row.lock.name, rows: rows[i : i+1 : i+1]}
			w.keys[k.name] = k
			heap.Push(&w.ready, k)
			continue
		}
		k.rows, k.many = append(k.rows, *row), true
	}
}

// pick takes at most limit rows, the first of each key that is ready. Ahead of the free threads it leaves those on
// their last attempt. The keys lend no other row until they are freed.
func (w *window) pick(limit int, ahead bool) []candidate {
	w.mu.Lock()
	defer w.mu.Unlock()
	picks := make([]candidate, 0, min(limit, len(w.ready)))
	var left []*waitingKey
	for len(picks) < limit && len(w.ready) > 0 {
		k := heap.Pop(&w.ready).(*waitingKey)
		if ahead && k.rows[0].last {
			left = append(left, k)
			continue
		}
		picks = append(picks, k.rows[0])
		if k.rows = k.rows[1:]; len(k.rows) == 0 {
			w.hungry = w.hungry || k.many
			delete(w.keys, k.name)
		}
	}
	for _, k := range left {
		heap.Push(&w.ready, k)
	}
	w.rows -= len(picks)
	return picks
}

// free has a key lend its next row.
func (w *window) free(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if k := w.keys[name]; k != nil && k.index < 0 {
		heap.Push(&w.ready, k)
	}
}

// comeBack puts a row that was taken back in front of the others of its key, which is free.
func (w *window) comeBack(row candidate) {
	w.mu.Lock()
	defer w.mu.Unlock()
	k := w.keys[row.lock.name]
	switch {
	case w.keys == nil:
	case k == nil:
		k = &waitingKey{name: row.lock.name, rows: []candidate{row}}
		w.keys[k.name] = k
		heap.Push(&w.ready, k)
		w.rows++
	case k.index < 0:
		k.rows = append([]candidate{row}, k.rows...)
		heap.Push(&w.ready, k)
		w.rows++
	}
}

// forget drops the rows of a key, to be read again when it can be had.
func (w *window) forget(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	k := w.keys[name]
	if k == nil {
		return
	}
	delete(w.keys, name)
	w.rows -= len(k.rows)
	if k.index >= 0 {
		heap.Remove(&w.ready, k.index)
	}
}

// age drops everything that was read before a time, so that rows which have come in front are seen.
func (w *window) age(before time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.keys) > 0 && w.since.Before(before) {
		w.clear()
	}
}

// clear drops everything. The lock is held.
func (w *window) clear() {
	clear(w.keys)
	w.ready, w.rows, w.hungry = nil, 0, true
}

// room reports whether more rows may be read. A window that is full of rows whose keys are all held makes room where
// nothing else is to be had: a key that is free may be behind them.
func (w *window) room(nothingElse bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.rows >= maxWaiting && nothingElse {
		w.clear()
	}
	return w.rows < maxWaiting
}

// maxWaiting bounds the rows of a window.
const maxWaiting = 20_000

// names adds the names of the keys in the window to a set.
func (w *window) names(set map[string]bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for name := range w.keys {
		set[name] = true
	}
}

// looks reports whether a look for more rows is worth its while.
func (w *window) looks(now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.hungry || !now.Before(w.dry)
}

// looked says how long a look took, and whether it found as many rows as it was to.
func (w *window) looked(end time.Time, took time.Duration, full bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hungry = false
	if !full {
		w.dry = end.Add(dryTimes * took)
	}
}

// dryTimes is how many times longer than a look that found little the next one waits, where claims have other rows to
// take meanwhile: such a look may read every row of a key that is in work.
const dryTimes = 10
