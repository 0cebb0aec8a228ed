package engine

import (
	"context"
	"errors"
	"testing"
	"time"
)

func newLeash() *leash { return &leash{done: make(chan struct{})} }

func pulled(l *leash) bool {
	select {
	case <-l.done:
		return true
	default:
		return false
	}
}

func TestLeashCountsADeadlineThatNobodyHeard(t *testing.T) {
	l := newLeash()
	if err := l.begin(t.Context(), time.Now(), time.Hour); err != nil {
		t.Fatal(err)
	}
	l.timer.Stop() // as a timer that has fired, and whose function has not run yet
	if err := l.end(); err != context.DeadlineExceeded || !pulled(l) || l.Err() != err {
		t.Errorf("%v", err)
	}
}

func TestLeashIgnoresWhatComesBetweenCalls(t *testing.T) {
	l := newLeash()
	defer l.unwatch()
	first, cancelFirst := context.WithCancel(t.Context())
	second, cancelSecond := context.WithCancel(t.Context())
	defer cancelSecond()
	for _, ctx := range []context.Context{first, first, second, context.Background(), second} {
		if err := l.begin(ctx, time.Now(), time.Hour); err != nil {
			t.Fatal(err)
		}
		if err := l.end(); err != nil {
			t.Fatal(err)
		}
	}
	cancelFirst()
	l.interrupt(first.Done()) // as a callback that is late
	l.interrupt(second.Done())
	l.expire()
	if pulled(l) {
		t.Error("pulled between two calls")
	}
	if err := l.begin(second, time.Now(), time.Hour); err != nil {
		t.Fatal(err)
	}
	l.interrupt(first.Done())
	if pulled(l) {
		t.Error("pulled by an earlier context")
	}
	cancelSecond()
	<-l.Done()
	if err := l.end(); err != context.Canceled {
		t.Error(err)
	}
}

func TestLeashKeepsTheFirstCause(t *testing.T) {
	l := newLeash()
	defer l.unwatch()
	ctx, cancel := context.WithCancel(t.Context())
	if err := l.begin(ctx, time.Now(), time.Hour); err != nil {
		t.Fatal(err)
	}
	cancel()
	<-l.Done()
	l.expire()
	if err := l.end(); err != context.Canceled {
		t.Error(err)
	}
	if err := l.begin(ctx, time.Now(), time.Hour); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestLeashDeadline(t *testing.T) {
	l := newLeash()
	start := time.Now()
	if err := l.begin(context.Background(), start, time.Hour); err != nil {
		t.Fatal(err)
	}
	if at, ok := l.Deadline(); !ok || !at.Equal(start.Add(time.Hour)) {
		t.Error(at, ok)
	}
	l.end()
	if err := l.begin(context.Background(), start, 0); err != nil {
		t.Fatal(err)
	}
	if _, ok := l.Deadline(); ok {
		t.Error("a call without a timeout inherited a deadline")
	}
	if err := l.end(); err != nil {
		t.Error(err)
	}
}
