package host

import (
	"iter"
	"sync"
	"time"
)

// queue holds the rows that are claimed and not yet started, between one claimer and the threads.
type queue struct {
	mu      sync.Mutex
	arrived sync.Cond
	// shared holds the tasks that any thread may take, own those that one thread has to take.
	shared lane
	own    []lane
	ready  int // threads that have an instance
	// bare is since when none has one, by the clock of flights.
	bare   time.Duration
	idle   int // threads that wait in take
	closed bool
	// paused keeps tasks out while it lasts.
	paused *pause
	// batch is how many tasks a thread takes at once.
	batch int
	// low is the length at which taking a task asks the claimer for more.
	low int
	// need has a signal for the claimer: a thread is idle, or the queue is low.
	need chan struct{}
}

// lane is a list of tasks in order, from head on.
type lane struct {
	tasks []*task
	head  int
}

func (l *lane) len() int { return len(l.tasks) - l.head }

// add moves the tasks to the front where that makes room for as many again: a lane need never run empty.
func (l *lane) add(t *task) {
	if l.head == len(l.tasks) || len(l.tasks) == cap(l.tasks) && l.head > len(l.tasks)/2 {
		n := copy(l.tasks, l.tasks[l.head:])
		clear(l.tasks[n:])
		l.tasks, l.head = l.tasks[:n], 0
	}
	l.tasks = append(l.tasks, t)
}

func (l *lane) take() *task {
	t := l.tasks[l.head]
	l.tasks[l.head] = nil
	l.head++
	return t
}

// newQueue is a queue for threads, which have lanes of their own where rows of one key have to go to
// one thread.
func newQueue(lanes int) *queue {
	q := &queue{own: make([]lane, lanes), batch: 1, need: make(chan struct{}, 1), paused: &pause{}}
	q.arrived.L = &q.mu
	return q
}

// put adds tasks. It reports false, and takes none, during a pause and once the queue is closed.
func (q *queue) put(tasks []*task) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed || q.paused.on() {
		return false
	}
	for _, t := range tasks {
		if t.lane == anyThread {
			q.shared.add(t)
		} else {
			q.own[t.lane].add(t)
		}
	}
	if len(q.own) > 0 {
		// A signal could wake a thread whose lane is empty.
		q.arrived.Broadcast()
		return true
	}
	for range min(len(tasks), q.idle) {
		q.arrived.Signal()
	}
	return true
}

// first is the lane that the next task of a thread comes from, nil where there is none.
func (q *queue) first(thread int) *lane {
	if len(q.own) > 0 && q.own[thread].len() > 0 {
		return &q.own[thread]
	}
	if q.shared.len() > 0 {
		return &q.shared
	}
	return nil
}

// take waits for a task of the thread, and gives nil once the queue is closed.
func (q *queue) take(thread int) *task {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.first(thread) == nil {
		if q.closed {
			return nil
		}
		q.idle++
		q.ask()
		q.arrived.Wait()
		q.idle--
	}
	return q.next(q.first(thread))
}

// more appends the tasks of the thread that wait, until the list is a batch. It waits for none, and
// leaves a task that is to be alone.
func (q *queue) more(thread int, tasks []*task) []*task {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(tasks) < q.batch {
		l := q.first(thread)
		if l == nil || l.tasks[l.head].alone {
			break
		}
		tasks = append(tasks, q.next(l))
	}
	return tasks
}

// next takes the first task of a lane. The lock is held, and there is one.
func (q *queue) next(l *lane) *task {
	t := l.take()
	if q.waiting() <= q.low {
		q.ask()
	}
	return t
}

// waiting is how many tasks wait. The lock is held.
func (q *queue) waiting() int {
	n := 0
	for l := range q.lanes() {
		n += l.len()
	}
	return n
}

func (q *queue) ask() {
	select {
	case q.need <- struct{}{}:
	default:
	}
}

// room is how many tasks wait, and how many more the idle threads could take. Where threads have lanes
// of their own nobody knows whose the next row is, so that none of them is free for it unless all are.
// Below low waiting tasks the claimer is asked for more.
func (q *queue) room(low int) (waiting, free int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.low = low
	waiting = q.waiting()
	if len(q.own) > 0 && (waiting > 0 || q.idle < q.ready) {
		return waiting, 0
	}
	return waiting, max(0, q.idle*q.batch-waiting)
}

// enter tells the queue of a thread that has an instance, leave of one that has lost it.
func (q *queue) enter() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ready++
}

func (q *queue) leave() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ready--; q.ready == 0 {
		q.bare = elapsed()
	}
}

// threads is how many threads can run tasks.
func (q *queue) threads() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.ready
}

// instances is how many threads have an instance, and where there is none, since when.
func (q *queue) instances() (ready int, bareSince time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.ready, q.bare
}

// close gives back the tasks that nobody has started and sends every thread home.
func (q *queue) close() []*task {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.arrived.Broadcast()
	return q.empty()
}

// withdraw gives back the tasks that nobody has started.
func (q *queue) withdraw() []*task {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.empty()
}

// empty takes out every task. The lock is held.
func (q *queue) empty() (rest []*task) {
	for l := range q.lanes() {
		rest = append(rest, l.tasks[l.head:]...)
		*l = lane{}
	}
	return rest
}

func (q *queue) lanes() iter.Seq[*lane] {
	return func(yield func(*lane) bool) {
		for i := range q.own {
			if !yield(&q.own[i]) {
				return
			}
		}
		yield(&q.shared)
	}
}
