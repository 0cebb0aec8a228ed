package host

import (
	"sync"
	"testing"
)

func someTasks(n int) []*task {
	list := make([]*task, n)
	for i := range list {
		list[i] = &task{index: i, lane: anyThread}
	}
	return list
}

// waiting waits until that many threads wait in take.
func waiting(t *testing.T, q *queue, n int) {
	t.Helper()
	eventually(t, "the threads wait", func() bool {
		q.mu.Lock()
		defer q.mu.Unlock()
		return q.idle == n
	})
}

func asked(q *queue) bool {
	select {
	case <-q.need:
		return true
	default:
		return false
	}
}

func TestQueueKeepsItsOrder(t *testing.T) {
	q := newQueue(0)
	q.put(someTasks(3))
	for round := range 3 {
		if got := q.take(0).index; got != round {
			t.Errorf("took %d in round %d", got, round)
		}
		if round == 0 {
			q.put([]*task{{index: 3, lane: anyThread}})
		}
	}
	equal(t, "last", q.take(0).index, 3)
}

// The claimer is asked for more when a thread is idle and when few tasks are left.
func TestQueueAsksForMore(t *testing.T) {
	q := newQueue(0)
	q.put(someTasks(5))
	q.room(2)
	for left := 4; left >= 0; left-- {
		q.take(0)
		if got := asked(q); got != (left <= 2) {
			t.Errorf("with %d left it asks: %v", left, got)
		}
	}
	var threads sync.WaitGroup
	for range 2 {
		threads.Go(func() { q.take(0) })
	}
	waiting(t, q, 2)
	if !asked(q) {
		t.Error("idle threads do not ask")
	}
	tasks, free := q.room(0)
	equal(t, "waiting", tasks, 0)
	equal(t, "free", free, 2)
	q.put(someTasks(2))
	threads.Wait()
	_, free = q.room(0)
	equal(t, "free", free, 0)
}

func TestQueueThatIsClosed(t *testing.T) {
	q := newQueue(0)
	q.put(someTasks(3))
	q.take(0)
	equal(t, "given back", len(q.close()), 2)
	if q.take(0) != nil {
		t.Error("a closed queue has a task")
	}
	if q.put(someTasks(1)) {
		t.Error("a closed queue takes a task")
	}
	equal(t, "given back again", len(q.close()), 0)

	q = newQueue(0)
	var threads sync.WaitGroup
	for range 3 {
		threads.Go(func() {
			if q.take(0) != nil {
				t.Error("there was no task")
			}
		})
	}
	waiting(t, q, 3)
	q.close()
	threads.Wait()
}

func TestQueueCountsThreadsWithAnInstance(t *testing.T) {
	q := newQueue(0)
	q.enter()
	q.enter()
	q.leave()
	equal(t, "threads", q.threads(), 1)
}

// A thread takes the tasks of its own lane and those of nobody's, and each lane keeps its order.
func TestQueueWithLanes(t *testing.T) {
	q := newQueue(2)
	q.enter()
	q.enter()
	q.put([]*task{{index: 0, lane: 1}, {index: 1, lane: 1}, {index: 2, lane: 0}, {index: 3, lane: anyThread}})
	waits, free := q.room(0)
	equal(t, "waiting", waits, 4)
	equal(t, "free", free, 0)
	equal(t, "first of lane 1", q.take(1).index, 0)
	equal(t, "first of lane 0", q.take(0).index, 2)
	equal(t, "nobody's", q.take(0).index, 3)
	var threads sync.WaitGroup
	threads.Go(func() { equal(t, "what came for lane 0", q.take(0).index, 4) })
	waiting(t, q, 1)
	_, free = q.room(0)
	equal(t, "free while a task of another thread waits", free, 0)
	q.put([]*task{{index: 4, lane: 0}})
	threads.Wait()
	equal(t, "given back", len(q.close()), 1)
}

// A lane that never runs empty takes no more room than its longest time needs.
func TestLaneKeepsItsSize(t *testing.T) {
	var l lane
	tasks := someTasks(10)
	for _, task := range tasks {
		l.add(task)
	}
	for i := range 100_000 {
		if got := l.take(); got != tasks[i%10] {
			t.Fatalf("task %d came in place %d", got.index, i)
		}
		l.add(tasks[i%10])
	}
	if c := cap(l.tasks); c > 100 {
		t.Errorf("a lane of 10 tasks has room for %d", c)
	}
}
