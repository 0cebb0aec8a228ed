package e2e

import (
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

func repeat(payload string, n int) []string { return slices.Repeat([]string{payload}, n) }

// riverqueue/river#400, hibiken/asynq#1015: a panic at shutdown, and a restart that spends a retry.
func TestTerminationSettlesOrReturnsEveryRow(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, database testdb.Database) {
		t.Parallel()
		const rows = 100
		b := newInbox(t, database, options{module: slow(t), handler: "threads = 4\nclaim = 100\nmax_attempts = 3\ndead_letter = \"dead\""})
		b.enqueue(repeat("0300", rows)...)
		p := b.start("serve")
		eventually(t, "rows are in work and others wait for a thread", func() bool {
			return p.count(called("")) >= 4 && b.count(leased) > rows/2
		})
		p.terminate()
		if n := b.count("locked_until IS NOT NULL"); n != 0 {
			t.Errorf("%d rows are left with a lease", n)
		}
		left := b.rows("attempt", everyRow)
		acked := with(settledOnce(t, final, p), "acked")
		if len(acked)+len(left) != rows {
			t.Errorf("%d rows are acked and %d left", len(acked), len(left))
		}
		if n := p.count(called("")); n != len(acked) {
			t.Errorf("%d rows were started and %d acked", n, len(acked))
		}
		for id, attempt := range left {
			if attempt != "1" || p.count(settled(id, "released")) != 1 {
				t.Errorf("row %s is left with the attempt %s, released %d times", id, attempt, p.count(settled(id, "released")))
			}
		}
		healthy(t, p)
	})
}

// A process that is told to stop while its claims are on their way keeps nothing of what they bring.
func TestTerminationAmidClaimsLeavesNoLease(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, database testdb.Database) {
		t.Parallel()
		b := newInbox(t, database, options{module: slow(t), handler: "threads = 4"})
		const rounds, rows = 8, 2000
		var processes []*process
		for range rounds {
			b.enqueue(repeat("0", rows)...)
			p := b.start("serve")
			processes = append(processes, p)
			eventually(t, "the process is at full speed", func() bool { return p.count(settled("", "acked")) > 100 })
			p.terminate()
			if n := b.count("locked_until IS NOT NULL"); n != 0 {
				t.Errorf("%d rows are left with a lease", n)
			}
			if n := b.count("attempt <> 1"); n != 0 {
				t.Errorf("%d rows that were not started have spent an attempt", n)
			}
		}
		acked := len(settledOnce(t, final, processes...))
		if left := b.count(everyRow); acked+left != rounds*rows {
			t.Errorf("%d rows are acked and %d left", acked, left)
		}
		healthy(t, processes...)
	})
}

// Guests that do not end within the drain timeout are interrupted, and their attempts stay counted.
func TestDrainTimeoutInterruptsGuests(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, database testdb.Database) {
		t.Parallel()
		b := newInbox(t, database, options{module: slow(t), runtime: `drain_timeout = "1s"`,
			handler: "threads = 2\nclaim = 2\ntimeout = \"5m\""})
		b.enqueue("0300000", "L", "0")
		p := b.start("serve")
		p.says("a call about row 1", called("1"))
		p.says("a call about row 2", called("2"))
		eventually(t, "row 3 waits for a thread", func() bool { return b.count(leased) == 3 })
		p.terminate()
		for id, want := range map[string]string{"1": "2", "2": "2", "3": "1"} {
			if got := b.rows("attempt", unheld)[id]; got != want {
				t.Errorf("row %s has the attempt %q instead of %s", id, got, want)
			}
		}
		if p.count(settled("1", "interrupted")) != 1 || p.count(settled("2", "interrupted")) != 1 || p.count(settled("3", "released")) != 1 {
			t.Error("the log does not say that rows 1 and 2 were interrupted and row 3 released")
		}
		if n := b.count("locked_until IS NOT NULL OR " + "retry_after > {now}"); n != 0 {
			t.Errorf("%d rows cannot be claimed at once", n)
		}
		healthy(t, p)
	})
}

func TestSecondSignalStopsAtOnce(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, database testdb.Database) {
		t.Parallel()
		b := newInbox(t, database, options{module: slow(t), runtime: `drain_timeout = "10m"`,
			handler: "threads = 1\nclaim = 2\ntimeout = \"10m\""})
		b.enqueue("0600000", "0")
		p := b.start("serve")
		p.says("a call about row 1", called("1"))
		eventually(t, "row 2 waits for a thread", func() bool { return b.count(leased) == 2 })
		p.signal(syscall.SIGTERM)
		// The release shows that the first signal has arrived: two at once would be one.
		p.says("the release of row 2", settled("2", "released"))
		if p.ended() {
			t.Fatal("the process did not wait for its handler")
		}
		p.terminate()
		if got := b.rows("attempt", unheld)["1"]; got != "2" {
			t.Errorf("row 1 has the attempt %q", got)
		}
		if p.count(settled("1", "interrupted")) != 1 {
			t.Error("the log does not say that row 1 was interrupted")
		}
		healthy(t, p)
	})
}

// The poll is the floor: a row that another process writes is found by it.
func TestIdleProcessFindsNewRows(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, database testdb.Database) {
		t.Parallel()
		b := newInbox(t, database, options{module: slow(t), handler: "threads = 2\npoll_interval = \"1s\""})
		p := b.start("serve")
		p.says("its start", starting("serving"))
		for range 3 {
			b.enqueue("0")
			b.empty()
		}
		p.terminate()
		if n := p.count(settled("", "acked")); n != 3 {
			t.Errorf("%d rows are acked", n)
		}
		healthy(t, p)
	})
}

// A queue is empty when nothing is due or in work: what waits for its time is printed.
func TestUntilEmptyPrintsWhatWaits(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, database testdb.Database) {
		t.Parallel()
		b := newInbox(t, database, options{module: slow(t), handler: "threads = 2"})
		b.enqueue("0")
		b.run("enqueue", "jobs", "--file", "testdata/slow.wat", "--delay", "1h")
		p := b.start("serve", "--until-empty", "--json")
		p.succeed()
		want := report{Acked: 1}
		want.Waiting.Delayed = 1
		if got := p.report(); got != want {
			t.Errorf("the report is %+v, and should be %+v", got, want)
		}
		if n := b.count(hidden + " AND attempt = 1"); n != 1 {
			t.Errorf("%d rows wait untouched", n)
		}
		text := b.run("serve", "--until-empty")
		lines := strings.Split(strings.TrimSpace(text), "\n")
		var header, values []string
		for i, l := range lines {
			if strings.Contains(l, "handler") && i+2 < len(lines) {
				header, values = cells(l), cells(lines[i+2])
			}
		}
		if i := slices.Index(header, "waiting"); i < 0 || values[i] != "1" {
			t.Errorf("the table does not show that one row waits:\n%s", text)
		}
	})
}

// cells are the texts of a printed table's row.
func cells(row string) []string {
	cells := strings.Split(strings.Trim(row, "│ "), "│")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	return cells
}
