package engine

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/inbox-wasm/inbox-wasm/host/engine/meter"
	"github.com/inbox-wasm/inbox-wasm/internal/testwasm"
)

// endless are the ways of testdata/endless.wat to run for ever.
var endless = map[string]string{
	"l": "tight loop", "c": "tree of calls without a loop", "f": "large fills", "m": "large copies", "t": "table operations",
	"p": "reads all over the memory",
	"h": "host functions", "w": "writes to a stream", "s": "sleep",
}

// attempts are how often a time is taken on a noisy machine, for its best.
const attempts = 10

// endlessly is an instance of testdata/endless.wat.
func endlessly(t testing.TB, m *Module) *Instance {
	t.Helper()
	i, err := m.NewInstance(t.Context(), Settings{})
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// TestCase31_DeadlineIsKeptWithinTenMilliseconds whatever the guest does. How late a timer is on this machine is
// taken beside it, and left out of account.
func TestCase31_DeadlineIsKeptWithinTenMilliseconds(t *testing.T) {
	m := load(t, newEngine(t, Options{}), "endless", wat(t, "endless"), Limits{})
	for face, what := range endless {
		t.Run(what, func(t *testing.T) {
			const timeout = 30 * time.Millisecond
			var late []time.Duration
			for range attempts {
				i := endlessly(t, m)
				message := &Message{Payload: []byte(face), Timeout: timeout}
				r := i.Handle(t.Context(), message)
				if r.Failure != Timeout || r.Reusable {
					t.Fatalf("%+v", r)
				}
				if err := i.Close(t.Context()); err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				<-time.After(timeout)
				if late = append(late, r.Elapsed-time.Since(began)); late[len(late)-1] < 10*time.Millisecond {
					return
				}
			}
			t.Errorf("it ended %v past the deadline, beside a timer", slices.Min(late))
		})
	}
}

// Two functions that go on in each other have neither a loop nor a depth.
func TestTailCallsEndAtTheirDeadline(t *testing.T) {
	i := instance(t, load(t, newEngine(t, Options{}), "tail", wat(t, "tail"), Limits{}), Settings{})
	if r := i.Handle(t.Context(), &Message{Timeout: 30 * time.Millisecond}); r.Failure != Timeout || r.Elapsed > 5*time.Second {
		t.Errorf("%+v", r)
	}
}

// TestCase31_InterruptionIsHeard at once, too.
func TestCase31_InterruptionIsHeard(t *testing.T) {
	m := load(t, newEngine(t, Options{}), "endless", wat(t, "endless"), Limits{})
	for face, what := range endless {
		t.Run(what, func(t *testing.T) {
			var took []time.Duration
			for range attempts {
				i := endlessly(t, m)
				ctx, cancel := context.WithCancel(t.Context())
				var at time.Time
				stop := time.AfterFunc(20*time.Millisecond, func() { at = time.Now(); cancel() })
				r := i.Handle(ctx, &Message{Payload: []byte(face), Timeout: time.Minute})
				ended := time.Now()
				stop.Stop()
				if r.Failure != Interrupted {
					t.Fatalf("%+v", r)
				}
				if err := i.Close(t.Context()); err != nil {
					t.Fatal(err)
				}
				if took = append(took, ended.Sub(at)); took[len(took)-1] < 10*time.Millisecond {
					return
				}
			}
			t.Errorf("it took %v", slices.Min(took))
		})
	}
}

// TestCollectionsDoNotWaitForGuests: a collection of garbage stops every thread, and one that runs a guest
// is heard from when it looks up.
func TestCollectionsDoNotWaitForGuests(t *testing.T) {
	m := load(t, newEngine(t, Options{}), "endless", wat(t, "endless"), Limits{})
	for _, face := range []string{"l", "c", "f", "m", "p"} {
		t.Run(endless[face], func(t *testing.T) {
			i := endlessly(t, m)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ended := make(chan Result, 1)
			go func() { ended <- i.Handle(ctx, &Message{Payload: []byte(face), Timeout: time.Minute}) }()
			held := func(wanted time.Duration) time.Duration {
				shortest := time.Hour
				for until := time.Now().Add(10 * time.Second); time.Now().Before(until); {
					began := time.Now()
					runtime.GC()
					if shortest = min(shortest, time.Since(began)); shortest < wanted {
						break
					}
				}
				return shortest
			}
			beside := held(10 * time.Millisecond)
			cancel()
			if r := <-ended; r.Failure != Interrupted {
				t.Errorf("%+v", r)
			}
			if err := i.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			if alone := held(10 * time.Millisecond); beside > alone+10*time.Millisecond {
				t.Errorf("a collection took %v beside the guest, and %v alone", beside, alone)
			}
		})
	}
}

// Code whose every tick waits for memory is given fewer ticks at a time.
func TestSlowTicksAreGivenInSmallerPortions(t *testing.T) {
	read := `(local.set $at (i32.add (i32.load (i32.and (local.get $at) (i32.const 0x3fffffc)))
		(i32.add (i32.mul (local.get $at) (i32.const 1664525)) (i32.const 1013904223))))`
	wasm := testwasm.WAT(t, `(module (memory (export "memory") 1024) (func (export "inbox_handle") (result i32) (local $at i32)
		(loop `+strings.Repeat(read, 2000)+` (br 0)) (i32.const 0)))`)
	i := instance(t, load(t, newEngine(t, Options{}), "slow", wasm, Limits{}), Settings{})
	r := i.Handle(t.Context(), &Message{Timeout: 100 * time.Millisecond})
	if r.Failure != Timeout || i.call.portion >= meter.Interval || i.call.portion < fewestTicks {
		t.Errorf("%+v, a portion of %d ticks", r, i.call.portion)
	}
}

// TestTicksAreAFigure: the same work has the same ticks, and twice the work about twice.
func TestTicksAreAFigure(t *testing.T) {
	i := faces(t, Settings{})
	first := i.Handle(t.Context(), face("0"))
	again := i.Handle(t.Context(), face("0"))
	if first.Ticks <= 0 || first.Ticks != again.Ticks {
		t.Errorf("%d and %d ticks", first.Ticks, again.Ticks)
	}
}

// TestDeepCallsAreACheapTrap: not the host's own stack overflow, which takes hundreds of milliseconds and of
// megabytes.
func TestDeepCallsAreACheapTrap(t *testing.T) {
	m := load(t, newEngine(t, Options{}), "faces", wat(t, "faces"), Limits{})
	i := endlessly(t, m)
	defer func() {
		if err := i.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r := i.Handle(t.Context(), face("r"))
	runtime.ReadMemStats(&after)
	if r.Failure != Trap || r.Reason != "the calls of the guest go too deep" || r.Reusable {
		t.Errorf("%+v", r)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > 64<<20 {
		t.Errorf("%d MiB were allocated", n>>20)
	}
}
