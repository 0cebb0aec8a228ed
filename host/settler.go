package host

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/inbox-wasm/inbox-wasm/forms"
)

const (
	// answerTimeout is how long a settlement or an extension may take before it counts as unanswered.
	answerTimeout = 10 * time.Second
	// retryPause is the pause before a settlement is tried again that changed nothing.
	retryPause = 50 * time.Millisecond
)

// settler is one subscription's only writer about rows in hand: it settles them in groups, and
// extends their leases each half lease.
type settler struct {
	ledger
	form forms.Form
	now  func() time.Time
	seat *seat

	mu      sync.Mutex
	pending []verdict
	tasks   []*task // in hand; each knows its index
	// arrived has a signal when something is pending, answered when there is room for new claims.
	arrived, answered chan struct{}

	// The rest belongs to run.
	batch []verdict
	later []verdict // to be tried again
}

// hold takes charge of rows that were claimed.
func (s *settler) hold(tasks []*task) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range tasks {
		t.index = len(s.tasks)
		s.tasks = append(s.tasks, t)
	}
}

// drop ends the charge of a row whose settlement is answered. The lock is held.
func (s *settler) drop(t *task) {
	last := len(s.tasks) - 1
	s.tasks[t.index] = s.tasks[last]
	s.tasks[t.index].index = t.index
	s.tasks[last] = nil
	s.tasks = s.tasks[:last]
	if t.permit != nil {
		<-t.permit
	}
}

// inHand is how many rows are claimed and not answered.
func (s *settler) inHand() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.tasks)
}

// add passes on how tasks end.
func (s *settler) add(verdicts ...verdict) {
	s.mu.Lock()
	s.pending = append(s.pending, verdicts...)
	s.mu.Unlock()
	signal(s.arrived)
}

// signal leaves a signal unless there is one.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// run settles and extends. Once finish is closed it returns as soon as no row is in hand; when ctx
// ends it returns at once.
func (s *settler) run(ctx context.Context, finish <-chan struct{}) {
	extend := time.NewTicker(s.form.KeepEvery())
	defer extend.Stop()
	for {
		s.settle(ctx)
		if finish == nil && s.inHand() == 0 {
			return
		}
		var retry <-chan time.Time
		if len(s.later) > 0 {
			retry = time.After(retryPause)
		}
		select {
		case <-s.arrived:
		case <-retry:
			s.add(s.later...)
			s.later = s.later[:0]
		case <-extend.C:
			s.extend(ctx)
		case <-finish:
			finish = nil
		case <-ctx.Done():
			if n := s.inHand(); n > 0 {
				s.log.Warn("rows are left unsettled; they return when their leases end", "rows", n)
			}
			return
		}
	}
}

// settle settles what is pending.
func (s *settler) settle(ctx context.Context) {
	s.mu.Lock()
	s.batch, s.pending = s.pending, s.batch[:0]
	s.mu.Unlock()
	if len(s.batch) == 0 {
		return
	}
	open := make([]*verdict, 0, len(s.batch))
	settlements := make([]*forms.Settlement, 0, len(s.batch))
	for i := range s.batch {
		if v := &s.batch[i]; v.answer == nil {
			open, settlements = append(open, v), append(settlements, &v.settlement)
		}
	}
	var answers []forms.Answer
	if len(settlements) > 0 {
		bounded, cancel := context.WithTimeout(ctx, answerTimeout)
		s.seat.settlement.start()
		answers = s.form.Settle(bounded, settlements)
		s.seat.settlement.land()
		cancel()
	}
	now := elapsed()
	s.mu.Lock()
	for i := range s.batch {
		if v := &s.batch[i]; v.answer != nil {
			s.answer(ctx, v, *v.answer, now)
		}
	}
	for i, answer := range answers {
		s.answer(ctx, open[i], answer, now)
	}
	s.mu.Unlock()
	clear(s.batch) // its rows and their payloads are free to go
	signal(s.answered)
}

// answer counts what became of a settlement. The lock is held.
func (s *settler) answer(ctx context.Context, v *verdict, a forms.Answer, now time.Duration) {
	switch {
	case a.State == forms.Done:
		s.done(ctx, v, now)
	case a.State == forms.Lost:
		s.lost(ctx, v, "lease lost: the row was taken by another claim, or is gone; this delivery settled nothing")
	case (a.State == forms.Busy || a.State == forms.Unsent) && v.task.held(s.now()):
		s.later = append(s.later, *v)
		return
	default:
		s.unsettled(ctx, v, a, "not settled: the row returns when its hold ends, unless the settlement took effect unanswered")
	}
	s.drop(v.task)
}

// extend moves the leases of the rows in hand whose handlers still have time.
func (s *settler) extend(ctx context.Context) {
	now := s.now()
	s.mu.Lock()
	var tasks []*task
	var deliveries []*forms.Delivery
	for _, t := range s.tasks {
		if !t.lost && !t.overdue(now) {
			tasks = append(tasks, t)
			deliveries = append(deliveries, t.delivery)
		}
	}
	s.mu.Unlock()
	if len(tasks) == 0 {
		return
	}
	bounded, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	failed := 0
	var cause error
	s.seat.settlement.start()
	answers := s.form.Extend(bounded, deliveries)
	s.seat.settlement.land()
	for i, answer := range answers {
		switch t := tasks[i]; answer.State {
		case forms.Done:
			t.expires.Store(t.delivery.Expires().UnixNano())
		case forms.Lost:
			t.lost = true
			t.expires.Store(0)
			t.interrupt()
			s.log.LogAttrs(ctx, slog.LevelWarn, "the hold on a row was lost while it was in work: another claim took it, its session ended, or it is gone; its handler is interrupted",
				slog.String("row", t.delivery.ID.String()), slog.Int64("attempt", t.delivery.Attempt))
		case forms.Failed, forms.Unknown, forms.Unsent:
			failed++
			cause = answer.Err
		}
	}
	if failed > 0 {
		s.log.Error("leases were not extended", "rows", failed, "error", cause)
	}
}
