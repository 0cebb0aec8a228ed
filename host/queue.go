package host

import "sync"

// queue holds the rows that are claimed and not yet started, between one claimer and the threads.
type queue struct {
	mu      sync.Mutex
	arrived sync.Cond
	tasks   []*task // from head on
	head    int
	ready   int // threads that have an instance
	idle    int // threads that wait in take
	closed  bool
	// batch is how many tasks a thread takes at once.
	batch int
	// low is the length at which taking a task asks the claimer for more.
	low int
	// need has a signal for the claimer: a thread is idle, or the queue is low.
	need chan struct{}
}

func newQueue() *queue {
	q := &queue{batch: 1, need: make(chan struct{}, 1)}
	q.arrived.L = &q.mu
	return q
}

// put adds tasks. It reports false, and takes none, once the queue is closed.
func (q *queue) put(tasks []*task) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	if q.head == len(q.tasks) {
		q.tasks, q.head = q.tasks[:0], 0
	}
	q.tasks = append(q.tasks, tasks...)
	for range min(len(tasks), q.idle) {
		q.arrived.Signal()
	}
	return true
}

// take waits for a task, and gives nil once the queue is closed.
func (q *queue) take() *task {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.head == len(q.tasks) {
		if q.closed {
			return nil
		}
		q.idle++
		q.ask()
		q.arrived.Wait()
		q.idle--
	}
	return q.next()
}

// more appends the tasks that wait, until the list is a batch. It waits for none, and leaves a task that
// is to be alone.
func (q *queue) more(tasks []*task) []*task {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(tasks) < q.batch && q.head < len(q.tasks) && !q.tasks[q.head].alone {
		tasks = append(tasks, q.next())
	}
	return tasks
}

// next takes the first task. The lock is held, and there is one.
func (q *queue) next() *task {
	t := q.tasks[q.head]
	q.tasks[q.head] = nil
	q.head++
	if len(q.tasks)-q.head <= q.low {
		q.ask()
	}
	return t
}

func (q *queue) ask() {
	select {
	case q.need <- struct{}{}:
	default:
	}
}

// room is how many tasks wait, and how many more the idle threads could take. Below low waiting
// tasks the claimer is asked for more.
func (q *queue) room(low int) (waiting, free int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.low = low
	waiting = len(q.tasks) - q.head
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
	q.ready--
}

// threads is how many threads can run tasks.
func (q *queue) threads() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.ready
}

// close gives back the tasks that nobody has started and sends every thread home.
func (q *queue) close() []*task {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	rest := append([]*task(nil), q.tasks[q.head:]...)
	q.tasks, q.head = nil, 0
	q.arrived.Broadcast()
	return rest
}
