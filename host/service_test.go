package host

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

func onSQLite(t *testing.T) testdb.Database {
	t.Helper()
	return testdb.Database{Name: "sqlite", URL: testdb.SQLite(t)}
}

// One handler of every group leaves out the dead letters of all.
func TestEveryGroupLeavesOutDeadLetters(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		t.Parallel()
		b := open(t, db, tables+handler(t, "all", "jobs", "group = \"*\"\ndead_letter = \"dead\""), untilEmpty)
		b.enqueue("jobs", "one", "ok", "kill")
		b.enqueue("jobs", "two", "ok", "kill")
		b.enqueue("jobs", "dead", "old")
		b.drain()
		equal(t, "counts", b.counts("all"), Counts{Acked: 2, DeadLettered: 2})
		equal(t, "rows", b.rows("jobs", "payload", "name"), "kill|dead\nkill|dead\nold|dead\n")
	})
}

func TestHandlersReadTheirOwnGroups(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		t.Parallel()
		b := open(t, db, tables+handler(t, "one", "jobs", `dead_letter = "dead"`)+handler(t, "two", "jobs", "group = \"second\"\ndead_letter = \"dead\""), untilEmpty)
		b.enqueue("jobs", "one", many("ok", 5)...)
		b.enqueue("jobs", "second", "ok", "kill")
		b.enqueue("jobs", "third", "stays")
		b.drain()
		equal(t, "one", b.counts("one"), Counts{Acked: 5})
		equal(t, "two", b.counts("two"), Counts{Acked: 1, DeadLettered: 1})
		equal(t, "rows", b.rows("jobs", "payload", "name"), "kill|dead\nstays|third\n")
		reports, err := b.Reports(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "reports", reports, []Report{
			{Handler: "one", Table: "jobs", Group: "one", Counts: Counts{Acked: 5}},
			{Handler: "two", Table: "jobs", Group: "second", Counts: Counts{Acked: 1, DeadLettered: 1}},
		})
	})
}

// What waits is counted by its state.
func TestReportsCountWhatWaits(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		t.Parallel()
		b := open(t, db, tables+handler(t, "work", "jobs", ""))
		b.write("jobs", forms.Message{Group: "work", Payload: []byte("later"), Delay: time.Hour})
		b.enqueue("jobs", "work", "now", "held")
		b.script("UPDATE jobs SET locked_until = '" + utc(time.Now().Add(time.Hour)) + "' WHERE id = 3")
		reports, err := b.Reports(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "waiting", reports[0].Waiting, Waiting{Held: 1, Due: 1, Delayed: 1})
	})
}

// A row that this process writes is handled at once, whatever the poll interval.
func TestEnqueueWakesItsSubscription(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		t.Parallel()
		hourly := strings.Replace(handler(t, "work", "jobs", ""), `"20ms"`, `"1h"`, 1)
		other := strings.Replace(handler(t, "other", "jobs", ""), `"20ms"`, `"1h"`, 1)
		b := open(t, db, tables+hourly+other)
		b.start()
		for n := int64(1); n <= 5; n++ {
			b.enqueue("jobs", "work", "ok")
			eventually(t, "the row is handled", func() bool { return b.counts("work").Acked == n })
		}
		if err := b.Enqueue(t.Context(), "nowhere", nil); err == nil || !strings.Contains(err.Error(), `"nowhere"`) {
			t.Errorf("an unknown table: %v", err)
		}
	})
}

// A run until the queues are empty does not wait for the poll interval.
func TestUntilEmptyDoesNotWaitForThePoll(t *testing.T) {
	b := open(t, onSQLite(t), tables+strings.Replace(handler(t, "work", "jobs", "threads = 2"), `"20ms"`, `"1h"`, 1), untilEmpty)
	b.enqueue("jobs", "work", append(many("z", 5), "3 times")...)
	b.drain() // the row that returns at once is not left behind while it rests
	equal(t, "counts", b.counts("work"), Counts{Acked: 6, Retried: 2})
}

// A claim of its own size is filled again and again.
func TestClaimOfAFixedSize(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		t.Parallel()
		for _, size := range []string{"1", "7", "1000"} {
			b := open(t, db, renamed("jobs"+size)+handler(t, "work", "jobs", "threads = 2\nclaim = "+size), untilEmpty)
			b.enqueue("jobs", "work", many("ok", 50)...)
			b.drain()
			equal(t, "claim "+size, b.counts("work"), Counts{Acked: 50})
		}
	})
}

// renamed is the table jobs under another name in the database.
func renamed(name string) string {
	jobs, _, _ := strings.Cut(tables, "[tables.dead_jobs]")
	return jobs + "name = \"" + name + "\"\n"
}

func TestAServiceThatIsStoppedBeforeAnything(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		t.Parallel()
		b := open(t, db, tables+handler(t, "work", "jobs", ""))
		b.enqueue("jobs", "work", "ok")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := b.Run(ctx, nil); err != nil {
			t.Error(err)
		}
		equal(t, "rows", b.rows("jobs", "payload", "attempt", "locked_until"), "ok|1|-\n")
		equal(t, "counts", b.counts("work"), Counts{})
	})
}

func TestAServiceThatIsClosedTwice(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		t.Parallel()
		b := open(t, db, tables+handler(t, "work", "jobs", ""), untilEmpty)
		b.enqueue("jobs", "work", "ok")
		b.drain()
		for range 2 {
			if err := b.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}

// A service without handlers has nothing to serve, and says so.
func TestAServiceWithoutHandlers(t *testing.T) {
	cfg := parse(t, onSQLite(t), tables)
	create(t, connect(t, testdb.Database{URL: cfg.Database.URL.Reveal()}), cfg)
	_, err := Open(t.Context(), Options{Config: cfg, Log: (&lines{}).logger()})
	if err == nil || !strings.Contains(err.Error(), "inbox.toml: handlers: none is declared; add [handlers.NAME] with its module and its table") {
		t.Errorf("the error is %v", err)
	}
}

// At a stop the handlers that run may finish, and rows that nobody has started go back with their attempt.
func TestStopGivesUnstartedRowsBack(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		t.Parallel()
		b := open(t, db, tables+handler(t, "work", "jobs", "claim = 20\nmax_attempts = 9\ndead_letter = \"dead\""))
		b.enqueue("jobs", "work", many("z", 30)...)
		stop := b.start()
		eventually(t, "rows wait for the thread", func() bool {
			return b.counts("work").Acked > 0 && b.subscriptions()[0].settler.inHand() > 10
		})
		if err := stop(); err != nil {
			t.Error(err)
		}
		c := b.counts("work")
		if c.Released < 5 || c.Interrupted != 0 {
			t.Errorf("counts: %+v", c)
		}
		equal(t, "states", b.query("SELECT DISTINCT name FROM jobs WHERE locked_until IS NOT NULL OR attempt <> 1"), "")
		if n := strings.Count(b.rows("jobs", "id"), "\n"); int64(n) != 30-c.Acked {
			t.Errorf("%d rows are left of 30, and %d are acked", n, c.Acked)
		}
	})
}

// A handler that outlasts the drain is interrupted: its row goes back at once, and its attempt is spent.
func TestStopInterruptsWhatOutlastsTheDrain(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		t.Parallel()
		for _, how := range []string{"drain", "abort"} {
			t.Run(how, func(t *testing.T) {
				drain := map[string]string{"drain": "50ms", "abort": "1h"}[how]
				toml := "[runtime]\ndrain_timeout = \"" + drain + "\"\n" + renamed("jobs"+how) + handler(t, "work", "jobs", "timeout = \"2h\"")
				b := open(t, db, toml)
				b.enqueue("jobs", "work", "Z")
				ctx, cancel := context.WithCancel(t.Context())
				abort := make(chan struct{})
				var running sync.WaitGroup
				running.Go(func() {
					if err := b.Run(ctx, abort); err != nil {
						t.Error(err)
					}
				})
				eventually(t, "the row is in work", func() bool { return b.subscriptions()[0].settler.inHand() == 1 && b.busy() })
				cancel()
				if how == "abort" {
					close(abort)
				}
				running.Wait()
				equal(t, "counts", b.counts("work"), Counts{Interrupted: 1})
				equal(t, "rows", b.rows("jobs"+how, "payload", "attempt", "locked_until"), "Z|2|-\n")
			})
		}
	})
}

// busy reports whether the first subscription's threads have started every row in hand.
func (b *bench) busy() bool {
	s := b.subscriptions()[0].settler
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.tasks {
		if t.deadline.Load() == 0 {
			return false
		}
	}
	return true
}

// clock is a host's clock that a test sets wrong.
type clock struct{ off atomic.Int64 }

func (c *clock) now() time.Time { return time.Now().Add(time.Duration(c.off.Load())) }

// A host whose clock is off by more than a quarter of the lease claims nothing until it is right again.
func TestAWrongClockStopsTheClaims(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		t.Parallel()
		var c clock
		c.off.Store(int64(-time.Minute))
		b := open(t, db, tables+strings.Replace(handler(t, "work", "jobs", "lease = \"1s\""), `"20ms"`, `"1h"`, 1), func(o *Options) { o.Now = c.now })
		b.script("DELETE FROM jobs")
		c.off.Store(0)
		b.enqueue("jobs", "work", "ok")
		c.off.Store(int64(time.Minute))
		b.start()
		eventually(t, "the log says so twice", func() bool { return b.log.count("clock is off by more than a quarter of the lease") >= 2 })
		equal(t, "counts", b.counts("work"), Counts{})
		c.off.Store(0)
		eventually(t, "the row is handled", func() bool { return b.counts("work").Acked == 1 })
		if b.log.count("the clocks agree again") == 0 {
			t.Error("the log does not say that it is over")
		}
	})
}
