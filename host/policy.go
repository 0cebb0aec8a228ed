package host

import (
	"math"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/inbox-wasm/inbox-wasm/abi"
	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/host/config"
	"github.com/inbox-wasm/inbox-wasm/host/engine"
)

// policy turns what a guest returned, or how it failed, into what happens to the row.
type policy struct {
	handler *config.Handler
	now     func() time.Time
	// warnNoDelay is called when a guest asks for a delay that its table has no column for.
	warnNoDelay func()
	// resting is when the last of the rows that return at once has rested, in Unix nanoseconds.
	resting atomic.Int64
}

// settle decides what becomes of a delivery.
func (p *policy) settle(d *forms.Delivery, r *engine.Result) (forms.Settlement, outcome) {
	if r.Failure == engine.None {
		return p.returned(d, r)
	}
	reason := r.Failure.String() + ": " + r.Reason
	switch r.Failure {
	case engine.Trap, engine.Exit:
		return p.failed(d, p.handler.OnFailure.Trap, reason)
	case engine.Timeout:
		return p.failed(d, p.handler.OnFailure.Timeout, reason)
	case engine.Interrupted:
		return forms.Settlement{Delivery: d, Change: forms.Return}, interrupted
	default:
		return p.failed(d, p.handler.OnFailure.Outcome, reason)
	}
}

// returned decides by the guest's own code.
func (p *policy) returned(d *forms.Delivery, r *engine.Result) (forms.Settlement, outcome) {
	s := forms.Settlement{Delivery: d, Reason: r.Reason}
	switch r.Code {
	case abi.Ack:
		s.Reason, s.Keep = "", true
		return s, acked
	case abi.Drop:
		return s, dropped
	case abi.DeadLetter:
		if p.handler.DeadLetter == nil {
			reason := "the handler returned dead_letter, and inbox.toml declares no target for it"
			if r.Reason != "" {
				reason += "; reason: " + r.Reason
			}
			return p.failed(d, p.handler.OnFailure.Outcome, reason)
		}
		return p.bury(s)
	}
	if r.Code != abi.Snooze && p.spent(d) {
		return p.bury(s)
	}
	s.Change, s.Uncount = forms.Return, r.Code == abi.Snooze
	delay := r.Delay
	switch {
	case r.Code == abi.Retry:
		delay = 0
	case !r.HasDelay:
		delay = p.backoff(d)
	case delay > 0 && p.handler.Table.RetryAfter == "":
		p.warnNoDelay()
		delay = 0
	}
	if delay <= 0 {
		s.Until = p.again(d, s.Uncount)
		return s, retried
	}
	s.Until = p.now().Add(delay)
	if r.Code == abi.Snooze {
		return s, snoozed
	}
	return s, delayed
}

// again is when a row is due that returns at once. After its first failure it is due now, behind those
// that were due before it. One that fails again rests for the poll interval: it must neither keep a
// thread busy for nothing nor keep the rows behind it from their turn. Without a retry_after column it
// is left out for its backoff.
func (p *policy) again(d *forms.Delivery, uncounted bool) time.Time {
	rest := p.now().Add(restFor(p.handler))
	switch {
	case p.handler.Table.FIFO:
		p.rest(rest)
		return time.Time{} // the head of a group keeps its place; its form lets the group rest
	case p.handler.Table.RetryAfter == "":
		return p.now().Add(p.backoff(d))
	case d.Attempt == 1 && !uncounted:
		return p.now()
	default:
		p.rest(rest)
		return rest
	}
}

// restFor is how long a row rests that would be handled again and again.
func restFor(h *config.Handler) time.Duration { return min(h.PollInterval, maxPause) }

// rest remembers that a row rests until then.
func (p *policy) rest(until time.Time) {
	for last := p.resting.Load(); until.UnixNano() > last && !p.resting.CompareAndSwap(last, until.UnixNano()); {
		last = p.resting.Load()
	}
}

// rested reports whether no row rests that is to return at once.
func (p *policy) rested() bool { return p.now().UnixNano() > p.resting.Load() }

// failed decides by a failure's policy.
func (p *policy) failed(d *forms.Delivery, f config.Policy, reason string) (forms.Settlement, outcome) {
	s := forms.Settlement{Delivery: d, Reason: reason}
	switch {
	case f.Action == config.Drop:
		return s, dropped
	case f.Action == config.DeadLetter, p.spent(d):
		return p.bury(s)
	}
	s.Change = forms.Return
	if f.Action == config.Retry {
		s.Until = p.again(d, false)
		return s, retried
	}
	delay := f.Delay
	if !f.HasDelay {
		delay = p.backoff(d)
	}
	s.Until = p.now().Add(delay)
	return s, delayed
}

// undecodable decides about a row that no handler can be given.
func (p *policy) undecodable(d *forms.Delivery, reason string) (forms.Settlement, outcome) {
	return p.failed(d, p.handler.OnFailure.Decode, reason)
}

// spent reports whether the delivery was the row's last.
func (p *policy) spent(d *forms.Delivery) bool {
	return p.handler.MaxAttempts > 0 && d.Attempt >= int64(p.handler.MaxAttempts)
}

// overspent reports whether the row had its last delivery before this one: a crash spent it.
func (p *policy) overspent(d *forms.Delivery) bool {
	return p.handler.MaxAttempts > 0 && d.Attempt > int64(p.handler.MaxAttempts)
}

// bury moves the row to the dead letter target, with the attempt that failed.
func (p *policy) bury(s forms.Settlement) (forms.Settlement, outcome) {
	s.Uncount = true
	s.Change = forms.MoveToGroup
	if p.handler.DeadLetter.Table != nil {
		s.Change = forms.MoveToTable
	}
	return s, deadLettered
}

// backoff grows with each attempt up to its maximum, and is spread by its jitter.
func (p *policy) backoff(d *forms.Delivery) time.Duration {
	b := p.handler.Backoff
	attempt := max(d.Attempt, 1)
	delay := math.Min(float64(b.Initial)*math.Pow(b.Factor, float64(attempt-1)), float64(b.Max))
	delay *= 1 + b.Jitter*(2*rand.Float64()-1)
	return time.Duration(delay)
}
