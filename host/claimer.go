package host

import (
	"context"
	"hash/fnv"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/inbox-wasm/inbox-wasm/forms"
)

const (
	// maxClaim bounds the rows of a claim, but for a batch that is larger, and maxAhead those that wait for a
	// thread when the claim size is automatic: enough that the next claim need not wait for them.
	maxClaim = 500
	maxAhead = 4 * maxClaim
	// aheadFor is how much work the waiting rows should be: enough to cover the claim of the next
	// ones, and little enough that other processes are not kept from the rows.
	aheadFor = 100 * time.Millisecond
	// telling is how many calls tell the rate before half of that time is over, where they took a twentieth of it: at the
	// start of a full queue claims would otherwise stay small for long.
	telling = 64
	// aheadByKey is how many rows a thread are claimed ahead at least where each key has its thread.
	aheadByKey = 4
	// maxPause bounds the poll interval where waiting for it would be pointless, and lastPause where
	// the service ends once nothing is found.
	maxPause, lastPause = time.Second, 100 * time.Millisecond
)

// claimer takes rows for one subscription, as many as its threads will soon need.
type claimer struct {
	sub *subscription
	// fixed is the size of a claim where it is configured, 0 for automatic.
	fixed int
	// statements outlives the claimer's own context: a claim that is cut off on its way may have taken
	// rows that nobody would know of until their leases end.
	statements context.Context

	// rate is the rows whose calls end in a second, as of the mark: it rises at once and falls smoothly.
	rate       float64
	markTime   time.Time
	markCalls  int64
	lastExact  time.Time     // when rows on their last attempt could last be claimed
	began      time.Duration // of the last claim, by the clock of flights
	exactFirst bool          // a claim ahead came back short: only a claim for free threads tells whether the queue is empty
}

// plan is the next claim: how many rows, and whether it runs ahead of the free threads.
func (c *claimer) plan() (limit int, ahead bool) {
	s := c.sub
	target := c.ahead()
	if s.handler.ByKey {
		// Rows of other keys have to be found behind those that wait for a busy thread.
		target = max(target, aheadByKey*s.handler.Threads)
	}
	waiting, free := s.queue.room(target / 2)
	free = min(free, max(maxClaim, s.handler.Batch))
	if s.queue.threads() == 0 || s.settler.inHand() > 4*max(target, s.handler.Threads*s.handler.Batch)+free {
		return 0, false
	}
	if s.handler.Table.FIFO {
		// A group's next row can be claimed only when its head is settled, so nothing can be ahead.
		return free, false
	}
	if s.handler.MaxAttempts == 0 {
		return max(free, c.short(waiting, target)), false
	}
	// A row on its last attempt is claimed only for a free thread: a crash would spend the attempt
	// of one that waits. So that such rows do not wait for ever, a free thread is waited for now and
	// then.
	if free > 0 {
		return free, false
	}
	if c.exactFirst || s.now().Sub(c.lastExact) > min(s.handler.PollInterval, maxPause) {
		return 0, false
	}
	return c.short(waiting, target), true
}

// pause is how long nothing is claimed where nothing calls for it. A service that ends when its queues
// are empty has no reason to let the last look wait.
func (s *subscription) pause() time.Duration {
	if s.untilEmpty {
		return min(s.handler.PollInterval, lastPause)
	}
	return s.handler.PollInterval
}

// short is how many rows are missing until the target waits; none before half of it is used up.
func (c *claimer) short(waiting, target int) int {
	if waiting > target/2 {
		return 0
	}
	return min(target-waiting, max(maxClaim, c.fixed))
}

// ahead is how many rows should wait for a thread.
func (c *claimer) ahead() int {
	if c.fixed > 0 {
		return c.fixed
	}
	now, calls := c.sub.now(), c.sub.counters.handled.Load()
	n := calls - c.markCalls
	if elapsed := now.Sub(c.markTime); elapsed >= aheadFor/2 || n >= telling && elapsed >= aheadFor/20 {
		rate := float64(n) / elapsed.Seconds()
		c.rate = max(rate, (c.rate+rate)/2)
		c.markTime, c.markCalls = now, calls
	}
	return min(maxAhead, int(c.rate*aheadFor.Seconds()))
}

// run claims until ctx ends.
func (c *claimer) run(ctx context.Context) {
	s := c.sub
	c.markTime = s.now()
	retry := backoff.NewExponentialBackOff()
	retry.InitialInterval = 100 * time.Millisecond
	retry.MaxInterval = 10 * time.Second
	for ctx.Err() == nil {
		if over := s.paused.lasts(); over != nil {
			select {
			case <-over:
			case <-ctx.Done():
			}
			continue
		}
		if s.skewed.Load() {
			c.wait(ctx, s.pause(), s.wake)
			continue
		}
		pause, trial := s.brake.left()
		if pause > 0 {
			c.wait(ctx, pause, nil)
			continue
		}
		limit, ahead := c.plan()
		if trial {
			limit = min(limit, 1)
		}
		if limit == 0 {
			c.wait(ctx, s.pause(), s.queue.need)
			continue
		}
		permit, ok := c.permit()
		if !ok {
			c.wait(ctx, s.pause(), s.queue.need)
			continue
		}
		if permit != nil {
			limit, ahead = 1, false // each row has a transaction of its own, which its settlement ends
		}
		limit, wait := s.allowance.take(limit)
		if wait > 0 {
			if permit != nil {
				<-permit
			}
			c.wait(ctx, wait, nil)
			continue
		}
		rows, err := c.claim(limit, ahead)
		s.allowance.give(limit - len(rows))
		if len(rows) == 0 && permit != nil {
			<-permit
		}
		if err != nil {
			if ctx.Err() == nil {
				pause := retry.NextBackOff()
				s.claimFailed(err, pause)
				c.wait(ctx, pause, s.recovered)
			}
			continue
		}
		s.claimWorked()
		retry.Reset()
		s.start(rows, c.began, permit)
		c.after(ctx, len(rows), limit, ahead)
	}
}

// permit takes one of the connections that rows may hold, in a form that holds them so. It is not ok
// while there is none.
func (c *claimer) permit() (permit chan struct{}, ok bool) {
	if _, connected := c.sub.form.(forms.Connected); !connected {
		return nil, true
	}
	select {
	case c.sub.connections <- struct{}{}:
		return c.sub.connections, true
	default:
		return nil, false
	}
}

// claim takes rows. An answer that comes after their leases have ended is not waited for.
func (c *claimer) claim(limit int, ahead bool) ([]*forms.Delivery, error) {
	ctx, cancel := context.WithTimeout(c.statements, max(c.sub.handler.Lease, answerTimeout))
	defer cancel()
	flight := &c.sub.vitals.desk().claim
	began := flight.start()
	rows, err := c.sub.form.Claim(ctx, limit, ahead)
	flight.land()
	c.began = began
	if err == nil {
		c.sub.claimAnswered(began, len(rows))
	}
	return rows, err
}

// after decides when the next claim is due: at once after a full one, and otherwise when the poll
// interval is over or a row was written here.
func (c *claimer) after(ctx context.Context, got, limit int, ahead bool) {
	s := c.sub
	c.exactFirst = ahead && got < limit
	if !ahead {
		c.lastExact = s.now()
	}
	if got == limit || c.exactFirst {
		s.emptyClaims.Store(0)
		return
	}
	if got == 0 && s.settler.inHand() == 0 && s.policy.rested() {
		s.emptyClaims.Add(1)
	} else {
		s.emptyClaims.Store(0)
	}
	c.wait(ctx, s.pause(), s.wake)
}

// wait returns after the pause, on a signal, or when a settlement has made room for a full queue's
// claim that is being waited for, or may have freed the key of other rows.
func (c *claimer) wait(ctx context.Context, pause time.Duration, signals <-chan struct{}) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	var answered <-chan struct{}
	if signals == (<-chan struct{})(c.sub.queue.need) || signals == (<-chan struct{})(c.sub.wake) && c.sub.frees() {
		answered = c.sub.settler.answered
	}
	select {
	case <-timer.C:
	case <-signals:
	case <-answered:
	case <-ctx.Done():
	}
}

// start hands claimed rows to the threads, or gives them back where the threads are on their way home or the handler
// is paused. Their claim began then by the clock of flights.
func (s *subscription) start(rows []*forms.Delivery, began time.Duration, permit chan struct{}) {
	if len(rows) == 0 {
		return
	}
	tasks := newTasks(rows)
	s.traced(tasks, began)
	for i, d := range rows {
		tasks[i].permit = permit
		tasks[i].alone = s.alone(d)
		if s.handler.ByKey && d.HasPartitionKey {
			tasks[i].lane = laneOf(d.PartitionKey, s.handler.Threads)
		}
	}
	s.settler.hold(tasks)
	if !s.queue.put(tasks) {
		for _, t := range tasks {
			s.giveBack(t)
		}
	}
}

// laneOf is the thread that the rows of a key go to.
func laneOf(key string, threads int) int {
	h := fnv.New64a()
	h.Write([]byte(key))
	return int(h.Sum64() % uint64(threads))
}

// giveBack returns a row that was not started, with its attempt.
func (s *subscription) giveBack(t *task) {
	s.settler.add(t.released())
}
