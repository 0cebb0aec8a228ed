package host

import (
	"context"
	"errors"
	"sync"
	"time"
)

// runner is what subscriptions run in, from the start of Run to its end.
type runner struct {
	ctx   context.Context // ends when the service is to stop
	hurry chan struct{}   // closed when running calls are to be interrupted
	group sync.WaitGroup

	mu       sync.Mutex
	stopping bool               // nothing is launched any more
	dismiss  context.CancelFunc // ends what attends the last generation
	errs     []error
}

// Run runs every subscription until ctx ends, or until every queue is empty where the options say so.
// Then it drains: handlers finish for at most the drain timeout, or until abort is closed; what is
// still running is interrupted, and every row that is not settled is given back.
func (s *Service) Run(ctx context.Context, abort <-chan struct{}) error {
	running, stop := context.WithCancel(ctx)
	defer stop()
	r := &runner{ctx: running, hurry: make(chan struct{})}
	if err := s.launchAll(ctx, r); err != nil {
		return err
	}
	s.phase.Store(int32(serving))
	if s.options.Launched != nil {
		s.options.Launched()
	}
	ended := make(chan struct{})
	var hurrying sync.WaitGroup
	hurrying.Go(func() { r.hurryAfter(s.options.Config.Runtime.DrainTimeout, abort, ended) })
	if s.options.UntilEmpty {
		s.waitUntilEmpty(running)
		stop()
	}
	<-running.Done()
	s.phase.Store(int32(leaving))
	r.stop()
	r.group.Wait()
	close(ended)
	hurrying.Wait()
	s.changing.Lock()
	defer s.changing.Unlock()
	s.runner = nil
	return errors.Join(append(r.errs, closeForms(s.subscriptions()))...)
}

// launchAll starts what the service has.
func (s *Service) launchAll(ctx context.Context, r *runner) error {
	s.changing.Lock()
	defer s.changing.Unlock()
	g := s.current.Load()
	if err := openForms(ctx, g.subscriptions); err != nil {
		return err
	}
	for _, sub := range g.subscriptions {
		r.launch(sub)
	}
	r.attend(g.attendants(s.options.Log, s.options.Now))
	r.group.Go(func() { s.probe(r.ctx) })
	r.group.Go(func() { s.sampler.run(r.ctx) })
	s.runner = r
	return nil
}

// hurryAfter interrupts the calls that are running still when a service that stops has drained for its time, or
// when abort is closed. It returns early once ended is.
func (r *runner) hurryAfter(drain time.Duration, abort, ended <-chan struct{}) {
	defer close(r.hurry)
	<-r.ctx.Done()
	timer := time.NewTimer(drain)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-abort:
	case <-ended:
	}
}

// launch runs a subscription until it retires or the service stops. Once the service stops it does nothing.
func (r *runner) launch(sub *subscription) {
	sub.clocks(r.ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopping {
		return
	}
	ctx, retire := context.WithCancel(r.ctx)
	sub.retire, sub.service = retire, r.ctx
	sub.vitals.launched.Store(true)
	r.group.Go(func() {
		defer close(sub.ended)
		var probing sync.WaitGroup
		probing.Go(func() { sub.probe(ctx) })
		defer probing.Wait()
		defer retire()
		if err := sub.run(ctx, r.hurry); err != nil {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.errs = append(r.errs, err)
		}
	})
}

// attend runs what a generation has beside its subscriptions, in the place of what the one before had.
func (r *runner) attend(attendants []func(context.Context)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.dismiss != nil {
		r.dismiss()
	}
	if r.stopping {
		return
	}
	var ctx context.Context
	ctx, r.dismiss = context.WithCancel(r.ctx)
	for _, run := range attendants {
		r.group.Go(func() { run(ctx) })
	}
}

// stop lets nothing be launched any more.
func (r *runner) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopping = true
}

// lockedFor is how long a service that runs until its queues are empty waits for rows that are due and
// that no claim gets: their locks may be those of a connection that is about to end.
const lockedFor = 5 * time.Second

// waitUntilEmpty returns when nothing is due or in work here, or when a subscription has failed. Claims
// that come back empty do not show it by themselves: they pass over rows that anybody has locked. So the
// rows are counted too. Rows that stay due and unclaimed, such as those behind the head of a group and those of
// handlers that are paused, are left in the end.
func (s *Service) waitUntilEmpty(ctx context.Context) {
	const pause = 10 * time.Millisecond
	look := time.NewTicker(pause)
	defer look.Stop()
	var since time.Time // when the claims began to come back empty
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
		empty := true
		for _, sub := range s.subscriptions() {
			if sub.failure.Load() != nil {
				return
			}
			empty = empty && sub.atRest()
		}
		if !empty {
			since = time.Time{}
			look.Reset(pause)
			continue
		}
		if since.IsZero() {
			since = time.Now()
		}
		if s.nothingDue(ctx) || time.Since(since) >= lockedFor {
			return
		}
		look.Reset(lastPause) // a count may read the whole table
	}
}

// nothingDue counts the rows that are due. A count that fails counts nothing.
func (s *Service) nothingDue(ctx context.Context) bool {
	bounded, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	for _, sub := range s.subscriptions() {
		if sub.paused.on() {
			continue // whatever is due, nobody takes it here
		}
		if w, err := sub.form.Waiting(bounded); err != nil || w.Due > 0 {
			return false
		}
	}
	return true
}
