package e2e

import (
	"context"
	"syscall"
	"testing"
	"time"

	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// graphile/worker#169: a long job ran twice. The handler takes four leases; a second process and a
// second thread would take the row if its lease ever ended.
func TestHandlerSlowerThanItsLeaseIsDeliveredOnce(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, database testdb.Database) {
		t.Parallel()
		b := newInbox(t, database, options{module: slow(t), handler: "threads = 2\nlease = \"1s\"\npoll_interval = \"100ms\""})
		b.enqueue("04000", "04000")
		first, second := b.start("serve"), b.start("serve")
		b.empty()
		first.terminate()
		second.terminate()
		for _, id := range []string{"1", "2"} {
			if n := first.count(called(id)) + second.count(called(id)); n != 1 {
				t.Errorf("row %s was delivered %d times", id, n)
			}
		}
		if n := len(settledOnce(t, final, first, second)); n != 2 {
			t.Errorf("%d of 2 rows are settled", n)
		}
		healthy(t, first, second)
	})
}

// freeze stops the process while no lock of its is on the rows: one that stands in the middle of a
// transaction would hold everybody up, which is not what is tested here.
func (b *inbox) freeze(p *process) {
	b.t.Helper()
	eventually(b.t, "the stopped process leaves the rows unlocked", func() bool {
		p.signal(syscall.SIGSTOP)
		ctx, cancel := context.WithTimeout(b.t.Context(), time.Second)
		defer cancel()
		_, err := b.db.ExecContext(ctx, "UPDATE jobs SET last_error = last_error")
		if err != nil {
			p.signal(syscall.SIGCONT)
		}
		return err == nil
	})
}

// oban-bg/oban#532: a stale attempt reset a newer outcome. A process is stopped past its leases, one of
// a row in work and one of a row that waits for its thread. When it goes on, another has settled both.
func TestStoppedProcessSettlesNothingThatAnotherHasSettled(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, database testdb.Database) {
		t.Parallel()
		b := newInbox(t, database, options{module: slow(t), handler: "threads = 1\nclaim = 2\nlease = \"1s\""})
		b.enqueue("01000", "01000")
		stopped := b.start("serve", "--until-empty", "--json")
		stopped.says("a call about row 1", called("1"))
		eventually(t, "both rows are claimed", func() bool { return b.count(leased) == 2 })
		b.freeze(stopped)
		if stopped.count(settled("", "")) > 0 {
			t.Fatal("the process has settled its row before it was stopped")
		}
		eventually(t, "the leases are over", func() bool { return b.count(leased) == 0 })
		other := b.start("serve")
		b.empty()
		stopped.signal(syscall.SIGCONT)
		stopped.succeed()
		other.terminate()
		b.onlyTheOtherSettled(stopped, other)
	})
}

// The other process still has both rows in work when the stopped one goes on.
func TestStoppedProcessSettlesNothingThatAnotherHolds(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, database testdb.Database) {
		t.Parallel()
		b := newInbox(t, database, options{module: slow(t), handler: "threads = 1\nclaim = 2\nlease = \"1s\""})
		b.enqueue("03000", "03000")
		stopped := b.start("serve", "--until-empty", "--json")
		stopped.says("a call about row 1", called("1"))
		eventually(t, "both rows are claimed", func() bool { return b.count(leased) == 2 })
		b.freeze(stopped)
		eventually(t, "the leases are over", func() bool { return b.count(leased) == 0 })
		other := b.start("serve")
		other.says("a call about row 1", called("1"))
		eventually(t, "the other process holds both rows", func() bool { return b.count(leased) == 2 })
		stopped.signal(syscall.SIGCONT)
		stopped.says("the loss of row 1", lost("1"))
		stopped.says("the loss of row 2", lost("2"))
		if n := b.count(leased); n != 2 && other.count(settled("1", "")) == 0 {
			t.Errorf("%d rows are held, although the other process has both in work", n)
		}
		stopped.succeed()
		b.empty()
		other.terminate()
		b.onlyTheOtherSettled(stopped, other)
	})
}

// onlyTheOtherSettled checks both processes after a stop that cost the one its two rows.
func (b *inbox) onlyTheOtherSettled(stopped, other *process) {
	b.t.Helper()
	for _, id := range []string{"1", "2"} {
		if other.count(settled(id, "acked")) != 1 {
			b.t.Errorf("the other process did not settle row %s", id)
		}
		if stopped.count(settled(id, "")) != 0 {
			b.t.Errorf("the stopped process settled row %s", id)
		}
		if stopped.count(lost(id)) == 0 {
			b.t.Errorf("the stopped process does not say that it lost row %s", id)
		}
	}
	if n := stopped.count(called("2")); n != 0 {
		b.t.Errorf("row 2 was started %d times after its lease had ended", n)
	}
	if got := stopped.report(); got.Lost != 2 || got.Acked != 0 || got.Released != 0 {
		b.t.Errorf("the stopped process reports %+v", got)
	}
	healthy(b.t, stopped, other)
}

// oban-bg/oban#137: a job that killed its host was retried far beyond its cap. Whatever has spent its
// attempts by crashes is a dead letter before it could run again.
func TestRowThatKillsItsProcessIsBuriedBeforeItRunsAgain(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, database testdb.Database) {
		t.Parallel()
		b := newInbox(t, database, options{module: slow(t), runtime: `drain_timeout = "1s"`,
			handler: "threads = 2\nlease = \"1s\"\nmax_attempts = 2\ndead_letter = \"dead\"\ntimeout = \"5m\""})
		b.enqueue("0300000")
		for attempt := range 2 {
			p := b.start("serve")
			p.says("a call about the row", called("1"))
			for _, l := range p.read() {
				if l.Message == "called" && l.Attempt != attempt+1 {
					t.Errorf("the handler reads attempt %d instead of %d", l.Attempt, attempt+1)
				}
			}
			p.kill()
			if n := p.count(called("1")); n != 1 {
				t.Errorf("attempt %d is %d calls", attempt+1, n)
			}
		}
		last := b.start("serve")
		eventually(t, "the row is a dead letter", func() bool { return b.count("name = 'dead' AND locked_until IS NULL") == 1 })
		last.terminate()
		if n := last.count(called("")); n != 0 {
			t.Errorf("the row ran %d more times", n)
		}
		if reason := b.rows("last_error", everyRow)["1"]; reason != "the last attempt was not settled: its process ended, or the database refused it" {
			t.Errorf("the reason is %q", reason)
		}
		healthy(t, last)
	})
}
