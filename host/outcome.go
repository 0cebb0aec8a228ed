package host

import (
	"sync/atomic"

	"github.com/inbox-wasm/inbox-wasm/host/engine"
)

// outcome is what a delivery came to, as it is counted and logged.
type outcome uint8

const (
	acked outcome = iota
	dropped
	deadLettered
	retried
	delayed
	snoozed
	// released rows were given back without having been started.
	released
	// interrupted rows were given back because the process stops.
	interrupted

	outcomeCount
)

var outcomeNames = [outcomeCount]string{
	"acked", "dropped", "dead_lettered", "retried", "delayed", "snoozed", "released", "interrupted",
}

func (o outcome) String() string { return outcomeNames[o] }

// Counts are the deliveries of one handler since the service started, by what became of them.
type Counts struct {
	Acked        int64 `json:"acked"`
	Dropped      int64 `json:"dropped"`
	DeadLettered int64 `json:"dead_lettered"`
	Retried      int64 `json:"retried"`
	Delayed      int64 `json:"delayed"`
	Snoozed      int64 `json:"snoozed"`
	Released     int64 `json:"released"`
	Interrupted  int64 `json:"interrupted"`
	// Lost deliveries ended after somebody else had taken their row: they settled nothing.
	Lost int64 `json:"lost"`
	// Unsettled deliveries ended without an answer, or with a refusal, from the database. Their rows
	// return when their leases end, unless they were settled after all.
	Unsettled int64 `json:"unsettled"`
}

// counters count while the service runs.
type counters struct {
	outcomes  [outcomeCount]atomic.Int64
	lost      atomic.Int64
	unsettled atomic.Int64
	// handled counts the rows whose calls have ended.
	handled atomic.Int64

	claimed, claimErrors atomic.Int64
	created              atomic.Int64 // instances
	discarded            [causeCount]atomic.Int64
	ticks                atomic.Int64
	times                times
}

// called counts a call of the guest.
func (c *counters) called(r *engine.Result) {
	c.ticks.Add(r.Ticks)
	c.times.handler.Observe(r.Elapsed.Seconds())
}

func (c *counters) read() Counts {
	return Counts{
		Acked:        c.outcomes[acked].Load(),
		Dropped:      c.outcomes[dropped].Load(),
		DeadLettered: c.outcomes[deadLettered].Load(),
		Retried:      c.outcomes[retried].Load(),
		Delayed:      c.outcomes[delayed].Load(),
		Snoozed:      c.outcomes[snoozed].Load(),
		Released:     c.outcomes[released].Load(),
		Interrupted:  c.outcomes[interrupted].Load(),
		Lost:         c.lost.Load(),
		Unsettled:    c.unsettled.Load(),
	}
}

// Report is what a handler has done, and what waits for it.
type Report struct {
	Handler string `json:"handler"`
	Table   string `json:"table"`
	Group   string `json:"group,omitempty"`
	Counts
	Waiting Waiting `json:"waiting"`
}

// Waiting counts the rows that a handler reads, by state.
type Waiting struct {
	// Held rows are in work somewhere, were until a crash, or rest in a table without retry_after.
	Held int64 `json:"held"`
	// Due rows can be claimed now.
	Due int64 `json:"due"`
	// Delayed rows wait for their time.
	Delayed int64 `json:"delayed"`
}
