package host

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/inbox-wasm/inbox-wasm/forms"
)

// inline runs a subscription whose form holds the rows of a claim by a connection: each thread claims,
// handles and settles its own rows, without handing them over.
//
// A thread is an OS thread of its own while it calls the guest, and not while it waits for the
// database: network I/O on a locked OS thread costs 25 to 30 µs of CPU a row, so that locking for the
// call alone gives a third more rows a second than locking for good, and handing rows to another thread
// less than either. The instance stays with its goroutine all the same.
type inline struct {
	sub  *subscription
	form forms.Connected
	gate *gate
	ledger
	// claiming and handling is how many threads have a claim on its way or rows in hand.
	active atomic.Int64

	mu      sync.Mutex
	batches map[*batch]struct{} // in hand
	retry   *backoff.ExponentialBackOff
}

// batch is the rows of one claim, from the claim until its settlement is answered.
type batch struct {
	tasks []*task
	seat  *seat // of the thread
	// interrupt ends the guest's call.
	interrupt context.CancelFunc
	// settling says that the rows are the settlement's from now on.
	settling atomic.Bool
}

func newInline(s *subscription, form forms.Connected) *inline {
	retry := backoff.NewExponentialBackOff()
	retry.InitialInterval = 100 * time.Millisecond
	retry.MaxInterval = 10 * time.Second
	return &inline{
		sub: s, form: form, gate: newGate(s.pause, s.wake, s.stopping), ledger: s.newLedger(),
		batches: map[*batch]struct{}{}, retry: retry,
	}
}

// run is the run of a subscription.
func (r *inline) run(ctx context.Context, hurry <-chan struct{}) error {
	var threads, probing sync.WaitGroup
	guests, interrupt := context.WithCancel(context.WithoutCancel(ctx))
	defer interrupt()
	probes, stopProbes := context.WithCancel(context.WithoutCancel(ctx))
	probing.Go(func() { r.probe(probes) })
	for number := range r.sub.handler.Threads {
		threads.Go(func() { r.thread(guests, number) })
	}

	<-ctx.Done()
	close(r.sub.stopping)
	r.gate.close()
	var err error
	if !waitFor(&threads, asLongAsItTakes, hurry) {
		r.log.Warn("handlers are interrupted: the drain is over before they are")
		interrupt()
		if !waitFor(&threads, interruptTimeout+answerTimeout, nil) {
			err = fmt.Errorf("handler %s: a guest could not be interrupted; its row was given back", r.sub.handler.Name)
			r.abandon()
		}
	}
	stopProbes()
	probing.Wait()
	return errors.Join(err, r.sub.failed())
}

// thread claims and handles rows until the gate is closed. ctx interrupts the guest.
func (r *inline) thread(ctx context.Context, number int) {
	t := r.sub.newThread(number)
	defer t.close()
	for {
		runtime.LockOSThread()
		ready := t.prepare(ctx)
		runtime.UnlockOSThread()
		if !ready {
			return
		}
		polls, seen, ok := r.gate.enter()
		if !ok {
			return
		}
		r.turn(ctx, t, polls, seen)
	}
}

// turn is one claim with all that follows from it.
func (r *inline) turn(ctx context.Context, t *thread, polls bool, seen int) {
	trial, ok := r.unbraked()
	if !ok {
		return
	}
	select {
	case r.sub.connections <- struct{}{}:
	case <-r.sub.stopping:
		return
	}
	defer func() { <-r.sub.connections }()
	sole := r.active.Add(1) == 1
	defer r.active.Add(-1)

	limit, wait := r.limit(trial)
	if wait > 0 {
		r.gate.leave(polls, seen, false, wait)
		return
	}
	rows, err := r.claim(ctx, t, limit)
	switch {
	case err != nil:
	case len(rows) == 0 && sole && r.active.Load() == 1 && r.sub.policy.rested():
		// Nothing was locked by another thread of this process when the claim looked.
		r.sub.emptyClaims.Add(1)
	default:
		r.sub.emptyClaims.Store(0)
	}
	r.claimed(ctx, polls, seen, rows, limit, err)
	for n := 1; len(rows) > 0; n++ {
		b, verdicts := r.handle(ctx, t, rows)
		rows = r.settleAndClaim(ctx, t, b, verdicts, n < maxChain)
	}
}

// maxChain is how many claims a thread makes by one connection before it lets others have it.
const maxChain = 100

// limit is how many rows a claim may take. Where that is none, it says for how long.
func (r *inline) limit(trial bool) (limit int, wait time.Duration) {
	limit = r.sub.handler.Claim
	if limit == 0 {
		limit = r.sub.handler.Batch
	}
	if trial || r.form.Alone() {
		limit = 1
	}
	return r.sub.allowance.take(limit)
}

// claimed takes note of what a claim has come to.
func (r *inline) claimed(ctx context.Context, polls bool, seen int, rows []*forms.Delivery, limit int, err error) {
	r.sub.allowance.give(limit - len(rows))
	if err != nil {
		r.gate.leave(polls, seen, false, r.claimFailed(ctx, err))
		return
	}
	r.claimWorked()
	r.gate.leave(polls, seen, len(rows) == limit, r.sub.pause())
}

// settleAndClaim settles a claim and gives the rows of the next one, where the form can do both together and nothing
// speaks against another claim at once.
func (r *inline) settleAndClaim(ctx context.Context, t *thread, b *batch, verdicts []verdict, more bool) []*forms.Delivery {
	settlements := settlementsOf(verdicts)
	form, ok := r.form.(forms.Chained)
	if !more || !ok || !r.mayGoOn() || !form.Chains(settlements) {
		r.settle(b, verdicts, settlements)
		return nil
	}
	limit, wait := r.limit(false)
	if wait > 0 {
		r.settle(b, verdicts, settlements)
		return nil
	}
	seen := r.gate.look()
	b.settling.Store(true)
	bounded, cancel := context.WithTimeout(context.Background(), answerTimeout)
	defer cancel()
	t.claimed = b.seat.settlement.start()
	answers, rows, err := form.SettleAndClaim(bounded, settlements, limit)
	b.seat.settlement.land()
	if err == nil {
		r.sub.claimAnswered(t.claimed, len(rows))
	}
	r.settled(bounded, b, verdicts, answers)
	r.claimed(ctx, false, seen, rows, limit, err)
	return rows
}

// mayGoOn reports whether nothing keeps the thread from another claim.
func (r *inline) mayGoOn() bool {
	select {
	case <-r.sub.stopping:
		return false
	default:
	}
	return !r.sub.brake.on() && !r.sub.paused.on()
}

// unbraked waits until the thread may claim, and says whether it may have one row alone. It is not ok once the
// service stops.
func (r *inline) unbraked() (trial, ok bool) {
	for {
		if over := r.sub.paused.lasts(); over != nil {
			select {
			case <-over:
				continue
			case <-r.sub.stopping:
				return false, false
			}
		}
		pause, trial := r.sub.brake.left()
		if pause == 0 {
			return trial, true
		}
		r.gate.sleep(pause)
		select {
		case <-r.sub.stopping:
			return false, false
		default:
		}
	}
}

// claim takes rows. Its end is not the subscription's: what is on its way when the service stops comes
// back, and is given back.
func (r *inline) claim(ctx context.Context, t *thread, limit int) ([]*forms.Delivery, error) {
	bounded, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	t.claimed = t.seat.claim.start()
	rows, err := r.form.Claim(bounded, limit, false)
	t.seat.claim.land()
	if err == nil {
		r.sub.claimAnswered(t.claimed, len(rows))
	}
	return rows, err
}

func (r *inline) claimFailed(ctx context.Context, err error) (pause time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	pause = r.retry.NextBackOff()
	if ctx.Err() == nil {
		r.sub.claimFailed(err, pause)
	}
	return pause
}

func (r *inline) claimWorked() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.retry.Reset()
	r.sub.claimWorked()
}

// handle runs the guest on the rows of a claim, one after the other, and says what becomes of them.
func (r *inline) handle(ctx context.Context, t *thread, rows []*forms.Delivery) (*batch, []verdict) {
	guests, interrupt := context.WithCancel(ctx)
	defer interrupt()
	b := &batch{tasks: newTasks(rows), seat: t.seat, interrupt: interrupt}
	r.sub.traced(b.tasks, t.claimed)
	for i, d := range rows {
		b.tasks[i].alone = r.sub.alone(d)
	}
	r.mu.Lock()
	r.batches[b] = struct{}{}
	r.mu.Unlock()
	verdicts := make([]verdict, 0, len(rows))
	runtime.LockOSThread()
	for rest := b.tasks; len(rest) > 0; {
		if !r.starts(guests, t) {
			verdicts = append(verdicts, unstarted(rest)...)
			break
		}
		n := r.together(rest)
		verdicts = append(verdicts, t.handleAll(guests, rest[:n])...)
		rest = rest[n:]
	}
	runtime.UnlockOSThread()
	return b, r.sub.conclude(t.seat, verdicts)
}

// together is how many of the next rows share a call.
func (r *inline) together(rest []*task) int {
	n := 1
	for !rest[0].alone && n < min(r.sub.handler.Batch, len(rest)) && !rest[n].alone {
		n++
	}
	return n
}

// starts reports whether one more row is to be started. The rows that are not go back unstarted: when
// the service stops, when the handler is paused, when they are lost, and when no instance can be made, so that they do
// not wait for one under their locks.
func (r *inline) starts(ctx context.Context, t *thread) bool {
	select {
	case <-r.sub.stopping:
		return false
	default:
	}
	return ctx.Err() == nil && !r.sub.paused.on() && (t.instance != nil || t.start(ctx) == nil)
}

// settle ends a claim. No cancellation reaches it; it takes at most as long as an answer may.
func (r *inline) settle(b *batch, verdicts []verdict, settlements []*forms.Settlement) {
	b.settling.Store(true)
	ctx, cancel := context.WithTimeout(context.Background(), answerTimeout)
	defer cancel()
	b.seat.settlement.start()
	answers := r.form.Settle(ctx, settlements)
	b.seat.settlement.land()
	if r.sub.handler.Table.FIFO {
		// The end of a group's head frees the row behind it, for the thread that polls. A head that keeps its
		// place waits for the poll, or it would spin.
		if slices.ContainsFunc(verdicts, func(v verdict) bool { return v.outcome != retried }) {
			defer signal(r.sub.wake)
		} else {
			r.gate.rest(r.sub.pause())
		}
	}
	r.settled(ctx, b, verdicts, answers)
}

// settled takes note of what became of a claim's rows.
func (r *inline) settled(ctx context.Context, b *batch, verdicts []verdict, answers []forms.Answer) {
	now := elapsed()
	for i, a := range answers {
		v := &verdicts[i]
		switch a.State {
		case forms.Done:
			r.done(ctx, v, now)
		case forms.Lost:
			r.lost(ctx, v, "connection lost: the row went back to its queue; this delivery settled nothing")
		case forms.RolledBack:
			r.unsettled(ctx, v, a, "not settled: the transaction was rolled back, and the row is back in its queue")
		default:
			r.unsettled(ctx, v, a, "not settled: the commit was not answered, and the row is back in its queue unless it took effect")
		}
	}
	r.mu.Lock()
	delete(r.batches, b)
	r.mu.Unlock()
}

// probe finds out whether the rows in hand are still held, and interrupts the guests of those that are
// not: somebody else may have them.
func (r *inline) probe(ctx context.Context) {
	tick := time.NewTicker(r.form.KeepEvery())
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			r.look(ctx)
		case <-ctx.Done():
			return
		}
	}
}

func (r *inline) look(ctx context.Context) {
	var batches []*batch
	var deliveries []*forms.Delivery
	for _, b := range r.inHand() {
		if !b.settling.Load() {
			batches = append(batches, b)
			deliveries = append(deliveries, b.tasks[0].delivery)
		}
	}
	if len(batches) == 0 {
		return
	}
	bounded, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	for i, answer := range r.form.Extend(bounded, deliveries) {
		if b := batches[i]; answer.State == forms.Lost && !b.settling.Load() && ctx.Err() == nil {
			b.interrupt()
			r.log.Warn("connection lost: its rows went back to their queue while they were in work",
				"rows", len(b.tasks), "row", deliveries[i].ID.String(), "attempt", deliveries[i].Attempt)
		}
	}
}

func (r *inline) inHand() []*batch {
	r.mu.Lock()
	defer r.mu.Unlock()
	batches := make([]*batch, 0, len(r.batches))
	for b := range r.batches {
		batches = append(batches, b)
	}
	return batches
}

// abandon gives back the rows of guests that do not end, so that their connections can be closed. What
// they come to in the end changes nothing.
func (r *inline) abandon() {
	for _, b := range r.inHand() {
		verdicts := unstarted(b.tasks)
		r.settle(b, verdicts, settlementsOf(verdicts))
	}
}

func settlementsOf(verdicts []verdict) []*forms.Settlement {
	settlements := make([]*forms.Settlement, len(verdicts))
	for i := range verdicts {
		settlements[i] = &verdicts[i].settlement
	}
	return settlements
}

// unstarted are the verdicts on rows that were not started.
func unstarted(tasks []*task) []verdict {
	verdicts := make([]verdict, len(tasks))
	for i, task := range tasks {
		verdicts[i] = task.released()
	}
	return verdicts
}
