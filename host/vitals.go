package host

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/host/config"
	"github.com/inbox-wasm/inbox-wasm/host/engine"
)

const (
	// hangsAfter is when something that should be answered soon counts as hanging.
	hangsAfter = 3 * time.Second
	// stuckAfter is for how long a call may outlast its deadline: a statement that is cancelled takes a while.
	stuckAfter = time.Second
	// settlementNews is for how long a failed settlement is news where none comes after it.
	settlementNews = 10 * time.Second
)

// vitals are the signs by which a subscription is seen to be well.
type vitals struct {
	launched atomic.Bool
	// seats are the threads', and one more of the claimer and the settler.
	seats []seat
	// answered is when a claim or a probe last was, by the clock of flights.
	answered atomic.Int64
	probing  flight

	// way is why the database does not answer, which an answer ends, and claim why it refuses claims, which only a claim ends.
	way, claim fault
	start      fault
	settlement fault
	unsettled  atomic.Int64 // when a settlement last failed, by the clock of flights
}

func newVitals(threads int) *vitals { return &vitals{seats: make([]seat, threads+1)} }

// desk is the seat of the claimer and the settler.
func (v *vitals) desk() *seat { return &v.seats[len(v.seats)-1] }

// fault is what is wrong, as text, or nothing.
type fault struct{ text atomic.Pointer[string] }

func (f *fault) set(text string) { f.text.Store(&text) }

func (f *fault) clear() {
	if f.text.Load() != nil {
		f.text.Store(nil)
	}
}

func (f *fault) get() (text string, is bool) {
	if p := f.text.Load(); p != nil {
		return *p, true
	}
	return "", false
}

// claims is for how long a claim, or a probe, has been on its way.
func (v *vitals) claims(now time.Duration) time.Duration {
	longest := v.probing.lasts(now)
	for i := range v.seats {
		longest = max(longest, v.seats[i].claim.lasts(now))
	}
	return longest
}

// settlements is for how long a settlement has been on its way.
func (v *vitals) settlements(now time.Duration) (longest time.Duration) {
	for i := range v.seats {
		longest = max(longest, v.seats[i].settlement.lasts(now))
	}
	return longest
}

// stuck is how many threads are in calls that should have ended by then, by the host's clock.
func (v *vitals) stuck(now time.Duration) (n int) {
	for i := range v.seats {
		if v.seats[i].overdue(now) > stuckAfter {
			n++
		}
	}
	return n
}

// memory is the size of the largest instance.
func (v *vitals) memory() (largest int64) {
	for i := range v.seats {
		largest = max(largest, v.seats[i].memory.Load())
	}
	return largest
}

// ailments says what keeps a subscription from its work. It waits for nothing.
func (s *subscription) ailments(now time.Duration) (list []string) {
	add := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	v := s.vitals
	free := !crowded(s.store, s.connections)
	if took := v.claims(now); took > hangsAfter && free {
		add("a claim has been on its way for %s: table %s is locked, or the database does not answer", took.Round(time.Second/10), s.table)
	} else if text, is := v.claim.get(); is {
		add("rows cannot be claimed: %s", text)
	} else if text, is := v.way.get(); is {
		add("rows could not be claimed: %s", text)
	}
	if s.skewed.Load() {
		add("this host's clock is off by more than a quarter of the lease from the database's, so that nothing is claimed")
	}
	ready, bareSince := s.queue.instances()
	if text, is := v.start.get(); is && ready == 0 {
		add("no instance can be made: %s", text)
	} else if ready == 0 && now-bareSince > hangsAfter {
		add("no thread has an instance")
	}
	if stuck := v.stuck(since(s.now())); stuck > 0 && stuck >= ready {
		add("every thread is stuck in a call that should have ended")
	}
	if took := v.settlements(now); took > hangsAfter && free {
		add("a settlement has been on its way for %s: rows of table %s are locked, or the database does not answer", took.Round(time.Second/10), s.table)
	} else if text, is := v.settlement.get(); is && now-time.Duration(v.unsettled.Load()) < settlementNews+s.brake.length() {
		add("deliveries cannot be settled: %s", text)
	}
	return list
}

// crowded reports whether deliveries in work have every connection of the pool, so that everything else waits for one of
// them to end and for nothing more.
func crowded(s store.Store, connections chan struct{}) bool {
	pool, ok := s.(store.Measured)
	return ok && len(connections) >= pool.Pool().Max
}

// claimAnswered takes note of a claim.
func (s *subscription) claimAnswered(began time.Duration, rows int) {
	now := elapsed()
	s.vitals.answered.Store(int64(now))
	s.counters.claimed.Add(int64(rows))
	s.counters.times.claim.Observe((now - began).Seconds())
	s.vitals.claim.clear()
	s.vitals.way.clear()
}

// claimRefused takes note of a claim that failed.
func (s *subscription) claimRefused(err error) {
	s.counters.claimErrors.Add(1)
	if errors.Is(err, context.DeadlineExceeded) || s.store.Failure(err) != store.Refused {
		s.vitals.way.set(s.passOn(err))
	} else {
		s.vitals.claim.set(s.passOn(err))
	}
}

func (s *subscription) passOn(err error) string { return passOn(s.generation.config.Database, err) }

// passOn gives an error of the database's as a reason that strangers may read: one line, without secrets.
func passOn(d config.Database, err error) string {
	return shorten(d.Mask(strings.Join(strings.Fields(err.Error()), " ")))
}

// longestReason bounds the text of an error, in bytes.
const longestReason = 300

func shorten(text string) string {
	if len(text) > longestReason {
		text = strings.ToValidUTF8(text[:longestReason], "") + " .."
	}
	return text
}

// startError says why no instance could be made, without the guest's own words: its settings may be in them.
func startError(err error) string {
	refused := (*engine.InitError)(nil)
	switch {
	case !errors.As(err, &refused):
		return shorten(err.Error())
	case refused.Failure == engine.None:
		return fmt.Sprintf("%s refuses with code %d; the log has its reason", refused.Step, refused.Code)
	default:
		return fmt.Sprintf("%s fails (%s); the log has its reason", refused.Step, refused.Failure)
	}
}

// busy is how many threads are in a call.
func (v *vitals) busy() (n int) {
	for i := range v.seats {
		if v.seats[i].deadline.Load() != 0 {
			n++
		}
	}
	return n
}
