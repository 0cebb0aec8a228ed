package engine

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// leash is what ends a call from outside: the message's deadline and the caller's context, in the shape of a
// context. The guest looks at it when its ticks are spent and at every host function. One serves an instance for its life, so that a call allocates no context, no
// timer and no channel. That works because an instance on which it was ever pulled is not used again.
type leash struct {
	done chan struct{} // made by the owner

	mu       sync.Mutex
	running  bool
	err      error // why done is closed
	pulled   atomic.Bool
	deadline time.Time
	timer    *time.Timer

	watched   <-chan struct{} // the Done channel of the caller's context that stopWatch belongs to
	stopWatch func() bool
}

// begin starts a call. A context that is done already is reported, and no call has started then.
func (l *leash) begin(ctx context.Context, start time.Time, timeout time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	l.watch(ctx)
	l.mu.Lock()
	l.running = true
	l.deadline = time.Time{}
	if timeout > 0 {
		l.deadline = start.Add(timeout)
	}
	l.mu.Unlock()
	if timeout > 0 {
		if l.timer == nil {
			l.timer = time.AfterFunc(timeout, l.expire)
		} else {
			l.timer.Reset(timeout)
		}
	}
	// After running is set: a context that is done from here on finds a running call.
	if err := ctx.Err(); err != nil {
		l.end()
		return err
	}
	return nil
}

// end finishes a call and returns what pulled the leash, if anything did: context.DeadlineExceeded or
// context.Canceled. A timer that fired but has not been heard yet counts, since it would be heard by the next
// call otherwise.
func (l *leash) end() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.deadline.IsZero() && !l.timer.Stop() {
		l.pull(context.DeadlineExceeded)
	}
	l.running = false
	return l.err
}

// watch follows the caller's context. Callers tend to pass the same one for every message, so that the
// watch is kept from call to call and only replaced with another context.
func (l *leash) watch(ctx context.Context) {
	done := ctx.Done()
	if done == l.watched {
		return
	}
	l.unwatch()
	l.mu.Lock()
	l.watched = done
	l.mu.Unlock()
	if done != nil {
		l.stopWatch = context.AfterFunc(ctx, func() { l.interrupt(done) })
	}
}

func (l *leash) unwatch() {
	if l.stopWatch != nil {
		l.stopWatch()
		l.stopWatch = nil
	}
	l.mu.Lock()
	l.watched = nil
	l.mu.Unlock()
}

// interrupt ends the call that runs under the context of this channel. An earlier context, or one that is
// done between two calls, ends nothing.
func (l *leash) interrupt(done <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running && l.watched == done {
		l.pull(context.Canceled)
	}
}

func (l *leash) expire() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running {
		l.pull(context.DeadlineExceeded)
	}
}

// pull is called with mu held.
func (l *leash) pull(why error) {
	if l.err == nil {
		l.err = why
		l.pulled.Store(true)
		close(l.done)
	}
}

// left is the time until the deadline, never below 0; false where there is none.
func (l *leash) left() (time.Duration, bool) {
	// Written by begin only, on the goroutine that calls the guest and so this.
	if l.deadline.IsZero() {
		return 0, false
	}
	return max(0, time.Until(l.deadline)), true
}

// Deadline implements context.Context.
func (l *leash) Deadline() (time.Time, bool) { return l.deadline, !l.deadline.IsZero() }

// Done implements context.Context.
func (l *leash) Done() <-chan struct{} { return l.done }

// Err implements context.Context.
func (l *leash) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}
