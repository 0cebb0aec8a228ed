package host

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/inbox-wasm/inbox-wasm/host/config"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// planner is a claimer without a database: idle threads wait, tasks are queued, and calls have ended.
func planner(t *testing.T, h config.Handler, idle, queued int) (*claimer, *queue) {
	t.Helper()
	q := newQueue(0)
	now := noon
	h.PollInterval, h.Table = time.Second, &config.Table{}
	s := &subscription{counters: &counters{}, handler: &h, queue: q, settler: &settler{}, now: func() time.Time { return now }}
	for range h.Threads {
		q.enter()
	}
	var threads sync.WaitGroup
	for range idle {
		threads.Go(func() { q.take(0) })
	}
	waiting(t, q, idle)
	q.mu.Lock()
	q.shared.tasks = append(q.shared.tasks, someTasks(queued)...) // without waking anybody
	q.mu.Unlock()
	s.settler.tasks = make([]*task, queued)
	t.Cleanup(func() {
		q.close()
		threads.Wait()
	})
	return &claimer{sub: s, fixed: h.Claim, markTime: now, lastExact: now}, q
}

func TestPlan(t *testing.T) {
	for _, test := range []struct {
		name         string
		handler      config.Handler
		idle, queued int
		rate         float64 // calls a second
		stale        bool    // the last claim for free threads is long ago
		short        bool    // a claim ahead came back short
		limit        int
		ahead        bool
	}{
		{name: "free threads", handler: config.Handler{Threads: 4}, idle: 3, limit: 3},
		{name: "nothing free, slow handlers", handler: config.Handler{Threads: 4}, rate: 2, limit: 0},
		{name: "fast handlers", handler: config.Handler{Threads: 4}, idle: 1, rate: 1000, limit: 100},
		{name: "no more than so far ahead", handler: config.Handler{Threads: 4}, idle: 1, rate: 1e6, limit: maxClaim},
		{name: "enough waits", handler: config.Handler{Threads: 4}, queued: 60, rate: 1000, limit: 0},
		{name: "half is used up", handler: config.Handler{Threads: 4}, queued: 50, rate: 1000, limit: 50},
		{name: "a claim of its own size", handler: config.Handler{Threads: 1, Claim: 7}, idle: 1, limit: 7},
		{name: "with a cap, for free threads alone", handler: config.Handler{Threads: 4, MaxAttempts: 3}, idle: 2, rate: 1000, limit: 2},
		{name: "with a cap, ahead", handler: config.Handler{Threads: 4, MaxAttempts: 3}, rate: 1000, limit: 100, ahead: true},
		{name: "with a cap, now and then a free thread is waited for", handler: config.Handler{Threads: 4, MaxAttempts: 3}, rate: 1000, stale: true, limit: 0},
		{name: "with a cap, after a short claim", handler: config.Handler{Threads: 4, MaxAttempts: 3}, rate: 1000, short: true, limit: 0},
		{name: "no thread has an instance", handler: config.Handler{Threads: 0}, rate: 1000, limit: 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, _ := planner(t, test.handler, test.idle, test.queued)
			c.rate, c.exactFirst = test.rate, test.short
			if test.stale {
				c.lastExact = noon.Add(-2 * time.Second)
			}
			limit, ahead := c.plan()
			if limit != test.limit || ahead != test.ahead {
				t.Errorf("%d rows, ahead %v; want %d, %v", limit, ahead, test.limit, test.ahead)
			}
		})
	}
}

// Settlements that pile up hold the claims back.
func TestPlanWaitsForSettlements(t *testing.T) {
	c, _ := planner(t, config.Handler{Threads: 2}, 2, 0)
	c.sub.settler.tasks = make([]*task, 11)
	if limit, _ := c.plan(); limit != 0 {
		t.Errorf("%d rows, with 11 in hand", limit)
	}
}

// With a poll interval of an hour a row on its last attempt does not wait for an hour.
func TestPlanLooksForLastAttemptsOften(t *testing.T) {
	c, _ := planner(t, config.Handler{Threads: 1, MaxAttempts: 3}, 0, 0)
	c.sub.handler.PollInterval = time.Hour
	c.rate, c.lastExact = 1000, noon.Add(-2*time.Second)
	if limit, _ := c.plan(); limit != 0 {
		t.Errorf("%d rows are claimed ahead", limit)
	}
}

// A row on its last attempt is never claimed ahead of a free thread, and not starved either, however many
// others there are.
func TestLastAttemptsAreNeitherPrefetchedNorStarved(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		t.Parallel()
		b := open(t, db, tables+handler(t, "work", "jobs", "threads = 2\nclaim = 20\nmax_attempts = 3\ndead_letter = \"dead\""))
		b.enqueue("jobs", "work", many("ok", 100)...)
		b.enqueue("jobs", "work", many("z", 10)...)
		b.script("UPDATE jobs SET attempt = 3 WHERE id > 100")
		b.script("UPDATE jobs SET priority = -1 WHERE id > 105")
		ctx, cancel := context.WithCancel(t.Context())
		var load sync.WaitGroup
		var written atomic.Int64
		load.Go(func() { // a constant load behind and before them
			for ctx.Err() == nil {
				if b.subscriptions()[0].settler.inHand() < 40 {
					if err := b.Enqueue(ctx, "jobs", messages("work", many("ok", 20))); err == nil {
						written.Add(20)
					}
				}
			}
		})
		b.start()
		sub := b.subscriptions()[0]
		eventually(t, "the rows on their last attempt are handled", func() bool {
			sub.queue.mu.Lock()
			defer sub.queue.mu.Unlock()
			ready := 0
			for _, task := range sub.queue.shared.tasks[sub.queue.shared.head:] {
				if task.delivery.Attempt >= 3 {
					ready++
				}
			}
			if ready > sub.queue.idle+sub.handler.Threads {
				t.Errorf("%d rows on their last attempt wait for a thread", ready)
			}
			return b.log.count("attempt=3 outcome=acked") == 10
		})
		cancel()
		load.Wait()
		if written.Load() == 0 {
			t.Error("there was no load")
		}
	})
}

// Threads beyond the rows, and rows beyond the threads, all end.
func TestManyThreads(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		t.Parallel()
		b := open(t, db, tables+handler(t, "work", "jobs", "threads = "+strconv.Itoa(32)), untilEmpty)
		b.enqueue("jobs", "work", many("i", 300)...)
		b.drain()
		equal(t, "counts", b.counts("work"), Counts{Acked: 300})
	})
}
