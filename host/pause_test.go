package host

import (
	"errors"
	"strings"
	"testing"

	"github.com/inbox-wasm/inbox-wasm/host/metrics"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// other is a handler beside the one that is paused, to show that time passes.
func other(t *testing.T) string { return handler(t, "other", "jobs", "") }

// passes lets the other handler take rows one after the other: long enough for whoever polls to have polled.
func (r *reloading) passes() {
	r.t.Helper()
	for range 5 {
		acked := r.counts("other").Acked
		r.enqueue("jobs", "other", "ok")
		eventually(r.t, "another handler takes its row", func() bool { return r.counts("other").Acked == acked+1 })
	}
}

func (r *reloading) pauseWork() {
	r.t.Helper()
	if err := r.Pause("work"); err != nil {
		r.t.Fatal(err)
	}
	eventually(r.t, "nothing is in hand", r.subscriptions()[0].idle)
}

func (r *reloading) resumeWork() {
	r.t.Helper()
	if err := r.Resume("work"); err != nil {
		r.t.Fatal(err)
	}
}

// A handler that is paused finishes its calls, gives back what it has not started, and claims nothing until it is
// resumed; its neighbour does not notice.
func TestPause(t *testing.T) {
	for _, keys := range []string{"claim = 3", "claim = 3\nby_key = true"} {
		t.Run(keys, func(t *testing.T) {
			eachForm(t, func(t *testing.T, db testdb.Database, tables string) {
				if strings.Contains(keys, "by_key") && !strings.Contains(tables, "partition_key") {
					t.Skip("the table has no partition key")
				}
				const rows = 16
				toml := tables + work("threads = 2\n"+keys) + other(t)
				r := openReloading(t, db, toml, answering(t, 0, 60))
				r.enqueue("jobs", "work", many("x", rows)...)
				r.start()
				eventually(t, "a row is in work", func() bool { return r.counts("work").Acked > 0 })
				r.pauseWork()
				before := r.counts("work")
				equal(t, "what became of rows beside acks and releases", before, Counts{Acked: before.Acked, Released: before.Released})
				if before.Acked == rows {
					t.Error("the pause came too late to keep anything from being handled")
				}
				equal(t, "rows that wait as if nothing had been", r.rows("jobs WHERE attempt = 1 AND name = 'work'", "attempt"),
					strings.Repeat("1\n", rows-int(before.Acked)))
				equal(t, "the metric", r.metric(metrics.Paused, "handler=work"), 1)
				r.passes()
				equal(t, "what the handler has done while it was paused", r.counts("work"), before)
				r.resumeWork()
				eventually(t, "the rest is handled", func() bool { return r.counts("work").Acked == rows })
				equal(t, "rows", r.rows("jobs", "id"), "")
			})
		})
	}
}

// A pause outlasts the reload of its handler, whatever changes.
func TestPauseOutlastsReloads(t *testing.T) {
	eachForm(t, func(t *testing.T, db testdb.Database, tables string) {
		toml := tables + work("") + other(t)
		r := openReloading(t, db, toml, answering(t, 0, 0))
		r.start()
		r.pauseWork()
		r.enqueue("jobs", "work", "x")
		r.module(t, answering(t, 3, 0))
		r.mustReload(toml)
		if !r.Paused("work") || r.Paused("other") {
			t.Error("the reload has changed what is paused")
		}
		r.passes()
		equal(t, "what the handler has done while it was paused", r.counts("work"), Counts{})
		r.resumeWork()
		eventually(t, "the new module handles the row", func() bool { return r.counts("work").Dropped == 1 })
	})
}

// A service that runs until its queues are empty leaves the rows of a handler that is paused.
func TestPausedHandlersDoNotHoldUpTheEnd(t *testing.T) {
	eachForm(t, func(t *testing.T, db testdb.Database, tables string) {
		r := openReloading(t, db, tables+work("")+other(t), answering(t, 0, 0), untilEmpty)
		r.enqueue("jobs", "work", "x", "x")
		r.enqueue("jobs", "other", many("ok", 20)...)
		r.pauseWork()
		r.drain()
		equal(t, "counts of the others", r.counts("other"), Counts{Acked: 20})
		equal(t, "rows", r.rows("jobs", "payload"), "x\nx\n")
	})
}

// Pausing and resuming are the same however often they are done, and know whom they are about.
func TestPauseOfWhom(t *testing.T) {
	db := testdb.Database{Name: "sqlite", URL: testdb.SQLite(t)}
	b := open(t, db, tables+handler(t, "work", "jobs", "")+handler(t, "more", "jobs", ""))
	for range 2 {
		if err := b.Pause("work"); err != nil || !b.Paused("work") {
			t.Errorf("paused: %v, %v", b.Paused("work"), err)
		}
	}
	for range 2 {
		if err := b.Resume("work"); err != nil || b.Paused("work") {
			t.Errorf("paused: %v, %v", b.Paused("work"), err)
		}
	}
	for _, err := range []error{b.Pause("wrok"), b.Resume("wrok")} {
		var unknown *UnknownHandler
		if !errors.As(err, &unknown) || err.Error() != `no handler "wrok" runs here; there are work, more` {
			t.Errorf("an unknown handler: %v", err)
		}
	}
	if b.Paused("wrok") {
		t.Error("a handler that is not there is paused")
	}
}
