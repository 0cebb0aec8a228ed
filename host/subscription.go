package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/host/config"
	"github.com/inbox-wasm/inbox-wasm/host/engine"
	"github.com/inbox-wasm/inbox-wasm/host/spans"
)

// subscription is one handler at work on its rows.
type subscription struct {
	generation *generation // that made it
	handler    *config.Handler
	table      *dialect.Table
	store      store.Store
	form       forms.Form
	assets     *assets
	publisher  *publisher // nil where the handler allows no publishing
	settings   engine.Settings
	policy     policy
	log        *slog.Logger
	now        func() time.Time
	loaded     time.Time

	// inline runs the subscription where its form holds rows by connections; nil for the others.
	inline *inline
	// connections bounds the claims of all subscriptions that hold a connection each.
	connections chan struct{}
	queue       *queue
	lone        lone
	settler     *settler
	counters    *counters

	// retire ends the context of run, and ended is closed when run has returned. Without retire it was never run.
	retire context.CancelFunc
	ended  chan struct{}
	// service is the context that ends when the service stops.
	service context.Context

	// wake has a signal when a row was written by this process.
	wake chan struct{}
	// stopping is closed when no more rows are to be claimed.
	stopping chan struct{}
	// recovered has a signal when the database answers again.
	recovered chan struct{}
	vitals    *vitals
	tracer    *spans.Tracer // nil where the service has no traces
	// skewed says that the host's clock is too far from the database's for leases to mean anything, and skewLogged when
	// that was last said.
	skewed     atomic.Bool
	skewLogged time.Time
	brake      *brake
	paused     *pause
	// allowance is nil where the handler has no rate_limit.
	allowance *allowance
	// claimError is the text of the last claim's error, empty after one that worked, and claimLogged
	// when it was last said.
	claimError  string
	claimLogged time.Time

	untilEmpty bool
	// emptyClaims counts the claims in a row that found nothing due with nothing in hand.
	emptyClaims atomic.Int64
	failure     atomic.Pointer[error]
}

// run claims and handles rows until ctx ends. Then it lets the handlers finish until hurry is closed, interrupts
// those that have not, gives back every row that is not settled and returns. An error says what could not be brought
// to an end.
func (s *subscription) run(ctx context.Context, hurry <-chan struct{}) error {
	if s.inline != nil {
		return s.inline.run(ctx, hurry)
	}
	var threads, claims, settling sync.WaitGroup
	guests, interrupt := context.WithCancel(context.WithoutCancel(ctx))
	defer interrupt()
	settlements, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	claiming, cutClaims := context.WithCancel(context.WithoutCancel(ctx))
	defer cutClaims()

	finish := make(chan struct{})
	settling.Go(func() { s.settler.run(settlements, finish) })
	for number := range s.handler.Threads {
		threads.Go(func() { s.newThread(number).run(guests) })
	}
	claims.Go(func() { (&claimer{sub: s, fixed: s.handler.Claim, statements: claiming}).run(ctx) })

	<-ctx.Done()
	close(s.stopping)
	for _, t := range s.queue.close() {
		s.giveBack(t)
	}
	waitFor(&claims, answerTimeout, hurry)
	cutClaims()
	claims.Wait()
	var err error
	if !waitFor(&threads, asLongAsItTakes, hurry) {
		s.log.Warn("handlers are interrupted: the drain is over before they are")
		interrupt()
		if !waitFor(&threads, interruptTimeout, nil) {
			err = fmt.Errorf("handler %s: a guest could not be interrupted; its row returns when its lease ends", s.handler.Name)
		}
	}
	close(finish)
	if !waitFor(&settling, flushTimeout, nil) {
		cut()
		settling.Wait()
		err = errors.Join(err, fmt.Errorf("handler %s: %d rows could not be settled; they return when their leases end", s.handler.Name, s.settler.inHand()))
	}
	return errors.Join(err, s.failed())
}

const (
	// interruptTimeout is how long a guest may take to notice that it is interrupted.
	interruptTimeout = 5 * time.Second
	// flushTimeout is how long the last settlements may take.
	flushTimeout = 15 * time.Second
)

// asLongAsItTakes is the limit of a wait that something else bounds: calls have deadlines of their own.
const asLongAsItTakes = time.Duration(math.MaxInt64)

// waitFor waits for a group, at most for a time or until hurry is closed, and says whether it came to
// its end.
func waitFor(group *sync.WaitGroup, limit time.Duration, hurry <-chan struct{}) bool {
	done := make(chan struct{})
	go func() {
		group.Wait()
		close(done)
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
	case <-hurry:
	}
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// fail ends a service that runs until its queues are empty, which they would never be.
func (s *subscription) fail(err error) { s.failure.CompareAndSwap(nil, &err) }

func (s *subscription) failed() error {
	if err := s.failure.Load(); err != nil {
		return fmt.Errorf("handler %s: %w", s.handler.Name, *err)
	}
	return nil
}

// claimFailed logs an error, and the same one again once a minute.
func (s *subscription) claimFailed(err error, pause time.Duration) {
	s.claimRefused(err)
	now := s.now()
	if text := err.Error(); text != s.claimError || now.Sub(s.claimLogged) >= time.Minute {
		s.claimError, s.claimLogged = text, now
		s.log.Error("rows could not be claimed; trying again", "error", err, "pause", pause)
	}
}

// claimWorked ends a row of errors.
func (s *subscription) claimWorked() {
	if s.claimError != "" {
		s.claimError = ""
		s.log.Info("claims work again")
	}
}

// errSkewed is why a service ends that runs until its queues are empty, which it could not find out.
var errSkewed = errors.New("nothing can be claimed: this host's clock is off by more than a quarter of the lease from the database's")

// compareClocks stops the claims while the host's clock is off by more than a quarter of the lease. It says so each half
// lease.
func (s *subscription) compareClocks(skew time.Duration) {
	if !s.table.Has(dialect.LockedUntil) {
		return // the server holds the rows, without a clock
	}
	skewed := skew.Abs() > s.handler.Lease/4
	switch now := time.Now(); {
	case skewed && (!s.skewed.Load() || now.Sub(s.skewLogged) >= s.handler.Lease/2):
		s.skewLogged = now
		s.log.Error("this host's clock is off by more than a quarter of the lease from the database's: nothing is claimed; set the clocks right",
			"database_ahead", skew.Round(time.Millisecond), "lease", s.handler.Lease)
		if s.untilEmpty {
			s.fail(errSkewed)
		}
	case !skewed && s.skewed.Load():
		s.log.Info("the clocks agree again")
		defer signal(s.wake)
	}
	s.skewed.Store(skewed)
}

// report is what the handler has done and what waits for it.
func (s *subscription) report(ctx context.Context) (Report, error) {
	waiting, err := s.form.Waiting(ctx)
	r := Report{Handler: s.handler.Name, Table: s.table.String(), Group: s.handler.Group, Counts: s.counters.read(), Waiting: Waiting(waiting)}
	if err != nil {
		return r, fmt.Errorf("handler %s: %w", s.handler.Name, err)
	}
	return r, nil
}
