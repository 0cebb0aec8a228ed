package host

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/host/spans"
)

// task is a row in hand, from its claim until its settlement is answered.
type task struct {
	delivery *forms.Delivery
	// expires is the end of the delivery's hold, in Unix nanoseconds: a thread does not start a row
	// that it may no longer hold.
	expires atomic.Int64
	// deadline is when the handler's time is over, in Unix nanoseconds, 0 before it starts: a lease
	// is not extended past it.
	deadline atomic.Int64
	// index is the task's place in its settler's list.
	index int
	// lane is the thread that has to take the row, or anyThread.
	lane int
	// alone keeps the row from sharing its call.
	alone bool
	// asked says that the guest has run a statement about the row, and connected that this has taken one of
	// the connections for deliveries.
	asked, connected bool
	// published are the rows that the guest has written in its transaction, whose readers are woken when it commits.
	published []publication
	// permit is given back when the row is settled: its hold has a connection. It is nil where it has none.
	permit chan struct{}
	// lost is set by the settler when an extension found the row taken.
	lost bool
	// spans are the delivery's, nil where the service has no traces.
	spans *spans.Delivery
	// caller is the thread whose guest works on the row, or did.
	caller atomic.Pointer[caller]
}

const anyThread = -1

func newTask(d *forms.Delivery) *task { return newTasks([]*forms.Delivery{d})[0] }

// newTasks are the tasks of the rows of a claim, in one allocation.
func newTasks(rows []*forms.Delivery) []*task {
	room := make([]task, len(rows))
	tasks := make([]*task, len(rows))
	for i, d := range rows {
		t := &room[i]
		t.delivery, t.lane = d, anyThread
		expires := int64(math.MaxInt64)
		if !d.Expires().IsZero() {
			expires = d.Expires().UnixNano()
		}
		t.expires.Store(expires)
		tasks[i] = t
	}
	return tasks
}

// released is the verdict on a row that was not started: it goes back with its attempt.
func (t *task) released() verdict {
	return verdict{task: t, settlement: forms.Settlement{Delivery: t.delivery, Change: forms.Return, Uncount: true}, outcome: released}
}

// held reports whether the delivery's hold lasts at that time.
func (t *task) held(now time.Time) bool { return now.UnixNano() < t.expires.Load() }

// overdue reports whether the handler should have ended by that time.
func (t *task) overdue(now time.Time) bool {
	deadline := t.deadline.Load()
	return deadline != 0 && now.UnixNano() > deadline
}

// verdict is a task with how it ends.
type verdict struct {
	task       *task
	settlement forms.Settlement
	outcome    outcome
	// ticks and took are what the call has cost, with all the rows that it was about; 0 without one.
	ticks int64
	took  time.Duration
	// ended is when the call has ended, by the clock of flights; 0 without one.
	ended time.Duration
	// answer is what became of a settlement that the row's own transaction made; nil for one that is to be made.
	answer *forms.Answer
}
