package host

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// lockTables are tables in the row lock form: one with what most tests need, its dead letter table, and
// one in which no column can hide a row.
const lockTables = `
[tables.jobs]
id = "id"
group = "name"
attempt = "attempt"
retry_after = "retry_after"
payload = "payload"
error = "error"
[tables.dead_jobs]
id = "id"
group = "name"
attempt = "attempt"
retry_after = "retry_after"
payload = "payload"
error = "error"
[tables.plain]
id = "id"
attempt = "attempt"
payload = "payload"
`

// eachLocked runs a test on every database that has row locks.
func eachLocked(t *testing.T, run func(t *testing.T, db testdb.Database)) {
	t.Helper()
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		if db.Name == "sqlite" {
			t.Skip("SQLite has no row locks; its refusal is tested with the configuration")
		}
		run(t, db)
	})
}

func TestRowLockOutcomes(t *testing.T) {
	for _, claim := range []int{1, 4} {
		t.Run(fmt.Sprintf("claim=%d", claim), func(t *testing.T) {
			eachLocked(t, func(t *testing.T, db testdb.Database) {
				keys := fmt.Sprintf("claim = %d\nthreads = 2\nmax_attempts = 3\ntimeout = \"200ms\"\nbackoff = { initial = \"1h\", max = \"1h\" }\n", claim)
				b := open(t, db, lockTables+handler(t, "work", "jobs", keys+`dead_letter = "dead"`)+
					handler(t, "moving", "jobs", keys+`dead_letter = "dead_jobs"`), untilEmpty)
				b.enqueue("jobs", "work", "ok", "drop", "kill", "Snooze", "Delay", "retry", "trap", "loop", "7", "ok")
				b.enqueue("jobs", "moving", "kill", "ok")
				b.drain()
				equal(t, "counts", b.counts("work"), Counts{Acked: 2, Dropped: 1, DeadLettered: 2, Snoozed: 1, Delayed: 4, Retried: 2})
				equal(t, "rows", b.rows("jobs", "payload", "name", "attempt"),
					"7|work|2\nDelay|work|2\nSnooze|work|1\nkill|dead|1\nloop|work|2\nretry|dead|3\ntrap|work|2\n")
				equal(t, "moved", b.rows("dead_jobs", "payload", "name", "attempt", "error"), "kill|moving|1|because\n")
				equal(t, "counts", b.counts("moving"), Counts{Acked: 1, DeadLettered: 1})
			})
		})
	}
}

// A process that has spent the row's last attempt and died leaves it above the cap.
func TestRowLockBuriesARowAboveItsCap(t *testing.T) {
	eachLocked(t, func(t *testing.T, db testdb.Database) {
		b := open(t, db, lockTables+handler(t, "work", "jobs", "max_attempts = 3\ndead_letter = \"dead\""), untilEmpty)
		if text := fmt.Sprint(b.Warnings()); !strings.Contains(text, "handlers.work.max_attempts: counts no crash") {
			t.Errorf("the warnings are %s", text)
		}
		b.enqueue("jobs", "work", "trap")
		b.script("UPDATE jobs SET attempt = 4")
		b.drain()
		equal(t, "rows", b.rows("jobs", "payload", "name", "attempt"), "trap|dead|4\n")
		equal(t, "counts", b.counts("work"), Counts{DeadLettered: 1})
	})
}

// Rows that no column hides are left out for their backoff, and let those behind them through.
func TestRowLockPoisonDoesNotSpin(t *testing.T) {
	eachLocked(t, func(t *testing.T, db testdb.Database) {
		b := open(t, db, lockTables+handler(t, "work", "plain", `backoff = { initial = "1h", max = "1h" }`))
		b.enqueue("plain", "", "trap", "retry", "7")
		b.enqueue("plain", "", many("ok", 20)...)
		c := b.count()
		stop := b.start()
		eventually(t, "the rows behind the poison are done", func() bool { return b.counts("work").Acked == 20 })
		claims, looks := c.holds.Load(), b.subscriptions()[0].emptyClaims.Load()
		eventually(t, "the queue is looked at", func() bool { return b.subscriptions()[0].emptyClaims.Load() > looks+5 })
		if n := c.holds.Load() - claims; n > 10 {
			t.Errorf("%d claims where all rows wait, want one a poll", n)
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		equal(t, "counts", b.counts("work"), Counts{Acked: 20, Retried: 1, Delayed: 2})
		equal(t, "rows", b.rows("plain", "payload", "attempt"), "7|2\nretry|2\ntrap|2\n")
	})
}

// counting is a store that counts its sessions, each of which is a claim, and notes how many there were
// at a time.
type counting struct {
	store.Store
	holds, open, most atomic.Int64
}

func (c *counting) Hold(ctx context.Context) (store.Session, error) {
	s, err := c.Store.Hold(ctx)
	if err != nil {
		return nil, err
	}
	c.holds.Add(1)
	n := c.open.Add(1)
	for most := c.most.Load(); n > most && !c.most.CompareAndSwap(most, n); most = c.most.Load() {
	}
	return &countedSession{s, c}, nil
}

type countedSession struct {
	store.Session
	store *counting
}

func (s *countedSession) Release() error {
	s.store.open.Add(-1)
	return s.Session.Release()
}

func (s *countedSession) Close() error {
	s.store.open.Add(-1)
	return s.Session.Close()
}

// count puts a counting store under every form of a service.
func (b *bench) count() *counting {
	b.t.Helper()
	c := &counting{Store: b.store}
	for _, sub := range b.subscriptions() {
		form := (&checker{config: b.options.Config}).form(b.t.Context(), c, sub.handler, b.current.Load().tables, b.options.Now)
		if form == nil {
			b.t.Fatal("no form")
		}
		sub.form = form
		sub.inline = newInline(sub, form.(forms.Connected))
	}
	return c
}

// Idle threads poll as one, and a full claim wakes the next of them.
func TestSixteenIdleThreadsPollAsOne(t *testing.T) {
	eachLocked(t, func(t *testing.T, db testdb.Database) {
		b := open(t, db, "max_connections = 18\n"+lockTables+handler(t, "work", "jobs", "threads = 16"))
		c := b.count()
		stop := b.start()
		const polls = 20
		began := time.Now()
		eventually(t, "it polls", func() bool { return c.holds.Load() >= polls })
		if elapsed := time.Since(began); elapsed < (polls-1)*20*time.Millisecond {
			t.Errorf("%d polls in %v, with a poll interval of 20 ms", polls, elapsed)
		}
		b.enqueue("jobs", "work", many("zzz", 64)...)
		eventually(t, "the rows are done", func() bool { return b.counts("work").Acked == 64 })
		if most := c.most.Load(); most < 8 {
			t.Errorf("at most %d of 16 threads worked at a time", most)
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if n := c.open.Load(); n != 0 {
			t.Errorf("%d sessions are left", n)
		}
	})
}

// A row that the process writes itself does not wait for the poll.
func TestRowLockWakesOnEnqueue(t *testing.T) {
	eachLocked(t, func(t *testing.T, db testdb.Database) {
		toml := strings.Replace(handler(t, "work", "jobs", "threads = 4"), "20ms", "1h", 1)
		b := open(t, db, lockTables+toml)
		c := b.count()
		b.start()
		eventually(t, "the first look", func() bool { return c.holds.Load() >= 1 && c.open.Load() == 0 })
		for n := range int64(3) {
			b.enqueue("jobs", "work", "ok")
			eventually(t, "the row is done", func() bool { return b.counts("work").Acked == n+1 })
		}
	})
}

// Eight threads of two processes take each of 2,000 rows once.
func TestRowLockTakesEachRowOnce(t *testing.T) {
	for _, claim := range []int{1, 16} {
		t.Run(fmt.Sprintf("claim=%d", claim), func(t *testing.T) {
			eachLocked(t, func(t *testing.T, db testdb.Database) {
				const rows = 2000
				toml := lockTables + handler(t, "work", "jobs", fmt.Sprintf("threads = 8\nclaim = %d", claim))
				one := open(t, db, toml, untilEmpty)
				two := reopen(t, parse(t, db, toml), untilEmpty)
				one.enqueue("jobs", "work", many("ok", rows)...)
				var running sync.WaitGroup
				running.Go(one.drain)
				running.Go(two.drain)
				running.Wait()
				first, second := one.counts("work"), two.counts("work")
				equal(t, "rows", one.rows("jobs", "id"), "")
				equal(t, "counts", Counts{Acked: first.Acked + second.Acked}, Counts{Acked: rows})
				first.Acked, second.Acked = 0, 0
				equal(t, "nothing but acks", []Counts{first, second}, make([]Counts, 2))
			})
		})
	}
}

// The smallest pools run fewer rows at once, and all of them: never a deadlock (riverqueue/river#695).
func TestRowLockInASmallPool(t *testing.T) {
	eachLocked(t, func(t *testing.T, db testdb.Database) {
		two := lockTables + handler(t, "work", "jobs", "threads = 4") + handler(t, "plain", "plain", "threads = 2")
		b := open(t, db, "max_connections = 2\n"+two, untilEmpty)
		const sum = "database.max_connections: is 2, and claims that hold a connection until they are settled take " +
			"4 × 1 of handlers.work + 2 × 1 of handlers.plain, beside 1 for everything else: 7; fewer rows run at once; raise it to 7, or lower threads"
		if text := fmt.Sprint(b.Warnings()); !strings.Contains(text, sum) {
			t.Errorf("the warnings are %s", text)
		}
		c := b.count()
		b.enqueue("jobs", "work", many("ok", 50)...)
		b.enqueue("plain", "", many("ok", 50)...)
		b.drain()
		equal(t, "work", b.counts("work"), Counts{Acked: 50})
		equal(t, "plain", b.counts("plain"), Counts{Acked: 50})
		if most := c.most.Load(); most != 1 {
			t.Errorf("%d claims held a connection of two", most)
		}

		cfg := parse(t, db, "max_connections = 1\n"+two)
		_, err := Open(t.Context(), Options{Config: cfg, Log: (&lines{}).logger()})
		if err == nil || !strings.Contains(err.Error(), "database.max_connections: is 1, and claims") || !strings.Contains(err.Error(), "4 × 1 of handlers.work") {
			t.Errorf("a pool of one: %v", err)
		}
	})
}

// A stop lets the running rows finish and takes no others.
func TestRowLockStops(t *testing.T) {
	eachLocked(t, func(t *testing.T, db testdb.Database) {
		b := open(t, db, lockTables+handler(t, "work", "jobs", "threads = 2\nclaim = 4"))
		b.enqueue("jobs", "work", many("zzz", 40)...)
		stop := b.start()
		eventually(t, "some rows are done", func() bool { return b.counts("work").Acked > 0 })
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		counts := b.counts("work")
		left := strings.Count(b.rows("jobs", "attempt"), "1\n")
		if counts.Acked+int64(left) != 40 || counts.Interrupted+counts.Lost+counts.Unsettled != 0 {
			t.Errorf("%+v and %d rows that are as they were, want 40", counts, left)
		}
	})
}

// What runs on after the drain is interrupted and given back with an attempt spent; a second signal does
// not wait for the drain.
func TestRowLockInterrupts(t *testing.T) {
	eachLocked(t, func(t *testing.T, db testdb.Database) {
		for _, how := range [][2]string{{"drained", "50ms"}, {"second signal", "1h"}} {
			t.Run(how[0], func(t *testing.T) {
				drain := how[1]
				toml := "[runtime]\ndrain_timeout = \"" + drain + "\"\n" + lockTables + handler(t, "work", "jobs", "claim = 2")
				var b *bench
				if drain == "50ms" {
					b = open(t, db, toml)
				} else {
					b = reopen(t, parse(t, db, toml))
				}
				b.enqueue("jobs", "work", "Z", "ok")
				abort := make(chan struct{})
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- b.Run(ctx, abort) }()
				b.inWork()
				cancel()
				if drain == "1h" {
					close(abort)
				}
				if err := <-ended; err != nil {
					t.Fatal(err)
				}
				equal(t, "counts", b.counts("work"), Counts{Interrupted: 1, Released: 1})
				equal(t, "rows", b.rows("jobs", "payload", "attempt"), "Z|2\nok|1\n")
				b.script("DELETE FROM jobs")
			})
		}
	})
}

// inWork waits until a guest of the first handler is called.
func (b *bench) inWork() {
	b.t.Helper()
	eventually(b.t, "a handler runs", func() bool {
		return slices.ContainsFunc(b.subscriptions()[0].inline.inHand(), func(b *batch) bool {
			return b.tasks[0].deadline.Load() != 0 && !b.settling.Load()
		})
	})
}

// A connection that is lost interrupts its guest within seconds, and the row is taken again at once.
func TestRowLockLostConnectionInterruptsItsGuest(t *testing.T) {
	eachLocked(t, func(t *testing.T, db testdb.Database) {
		toml := "[runtime]\ndrain_timeout = \"1ms\"\n" + lockTables + handler(t, "work", "jobs", "timeout = \"1h\"")
		b := open(t, db, toml)
		other := connect(t, db)
		b.enqueue("jobs", "work", "Z")
		b.start()
		b.inWork()
		b.kill(other)
		eventually(t, "the loss is counted", func() bool { return b.counts("work").Lost == 1 })
		b.inWork() // the next delivery
		if n := b.log.count("connection lost: its rows went back"); n != 1 {
			t.Errorf("%d lines tell of the loss", n)
		}
		equal(t, "rows", b.rows("jobs", "payload", "attempt"), "Z|1\n")
	})
}

// kill ends every session of the test's database but that of the store.
func (b *bench) kill(s store.Store) {
	b.t.Helper()
	if s.Dialect().Name() == "PostgreSQL" {
		script(b.t, s, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
		return
	}
	var ids []string
	sql := "SELECT id FROM information_schema.processlist WHERE db = DATABASE() AND id <> CONNECTION_ID()"
	err := s.Query(b.t.Context(), &dialect.Statement{SQL: sql}, 0, nil, func(v [][]byte) error {
		ids = append(ids, string(v[0]))
		return nil
	})
	if err != nil {
		b.t.Fatal(err)
	}
	for _, id := range ids {
		script(b.t, s, "KILL "+id)
	}
}
