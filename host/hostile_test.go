package host

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// hostile payloads, each with how its failure is told.
var hostile = []struct{ payload, reason string }{
	{"7", "bad outcome: inbox_handle returned 77, which is no outcome"},
	{"loop", "timeout: the deadline passed"},
	{"trap", "trap: unreachable"},
	{"xexit", "exit: proc_exit(0)"},
}

// Every failure is settled by its policy, every other row goes on, and the process stays up.
func TestFailuresAreSettledByTheirPolicies(t *testing.T) {
	policies := []struct {
		name, keys string
		rows       string // left in the group: payload and attempt
		until      string // the hidden rows are due again before that
		counts     Counts
	}{
		{name: "standard", rows: "7|2\nloop|2\ntrap|2\nxexit|2\n", until: "13s", counts: Counts{Acked: 8, Delayed: 4}},
		{name: "later", keys: `on_failure = { trap = "retry_after:1h", timeout = "retry_after:1h", outcome = "retry_after:1h" }`,
			rows: "7|2\nloop|2\ntrap|2\nxexit|2\n", until: "3601s", counts: Counts{Acked: 8, Delayed: 4}},
		{name: "dropping", keys: `on_failure = { trap = "drop", timeout = "drop", outcome = "drop" }`,
			counts: Counts{Acked: 8, Dropped: 4}},
		{name: "burying", keys: "dead_letter = \"burying-dead\"\non_failure = { trap = \"dead_letter\", timeout = \"dead_letter\", outcome = \"dead_letter\" }",
			counts: Counts{Acked: 8, DeadLettered: 4}},
		{name: "moving", keys: "dead_letter = \"dead_jobs\"\non_failure = { trap = \"dead_letter\", timeout = \"dead_letter\", outcome = \"dead_letter\" }",
			counts: Counts{Acked: 8, DeadLettered: 4}},
		{name: "capped", keys: "dead_letter = \"capped-dead\"\nmax_attempts = 3\non_failure = { trap = \"retry\", timeout = \"retry\", outcome = \"retry\" }",
			counts: Counts{Acked: 8, Retried: 8, DeadLettered: 4}},
		{name: "last", keys: "dead_letter = \"last-dead\"\nmax_attempts = 1", counts: Counts{Acked: 8, DeadLettered: 4}},
	}
	var toml strings.Builder
	toml.WriteString(tables)
	for _, p := range policies {
		toml.WriteString(handler(t, p.name, "jobs", "timeout = \"200ms\"\nthreads = 2\nbackoff = { initial = \"10s\", jitter = 0.2 }\n"+p.keys))
	}
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		t.Parallel()
		b := open(t, db, toml.String(), untilEmpty)
		start := time.Now()
		for _, p := range policies {
			for i, h := range hostile {
				b.enqueue("jobs", p.name, fmt.Sprintf("ok %d", i), h.payload, fmt.Sprintf("ok %d", i+10))
			}
		}
		b.drain()
		for _, p := range policies {
			equal(t, p.name+": counts", b.counts(p.name), p.counts)
			equal(t, p.name+": rows", b.rows("jobs WHERE name = '"+p.name+"'", "payload", "attempt"), p.rows)
			if p.until == "" {
				continue
			}
			// The host's clock wrote the times, in UTC.
			limit, _ := time.ParseDuration(p.until)
			early, late := start.Add(limit/2), time.Now().Add(limit)
			due := b.query("SELECT CAST(COUNT(*) AS CHAR(9)) FROM jobs WHERE name = '" + p.name + "' AND retry_after > '" + utc(early) + "' AND retry_after < '" + utc(late) + "'")
			equal(t, p.name+": hidden rows", strings.TrimSpace(due), "4")
		}
		dead := map[string]string{"burying": "1", "capped": "3", "last": "1", "moving": "1"}
		for name, attempt := range dead {
			from := "jobs WHERE name = '" + name + "-dead'"
			if name == "moving" {
				from = "dead_jobs WHERE name = 'moving'"
			}
			checkReasons(t, b, from, attempt)
		}
		checkReasons(t, b, "jobs WHERE name = 'standard'", "2")
		if n := b.log.count("the handler failed"); n != 7*4+2*4 {
			t.Errorf("%d failures are logged, want %d", n, 7*4+2*4)
		}
	})
}

func utc(at time.Time) string { return at.UTC().Format("2006-01-02 15:04:05.000000") }

func checkReasons(t *testing.T, b *bench, from, attempt string) {
	t.Helper()
	rows := strings.Split(strings.TrimSpace(b.rows(from, "payload", "attempt", "error", "locked_until")), "\n")
	if len(rows) != len(hostile) {
		t.Errorf("%s: %q", from, rows)
		return
	}
	for i, h := range hostile {
		cells := strings.Split(rows[i], "|")
		if cells[0] != h.payload || cells[1] != attempt || !strings.Contains(cells[2], h.reason) || cells[3] != "-" {
			t.Errorf("%s: row %q, want payload %s, attempt %s, a reason with %q and no lease", from, rows[i], h.payload, attempt, h.reason)
		}
	}
}

// A plugin host counted exit code 0 as a success (wapc-go#67, wazero#2352).
func TestCase33_ExitCodeZeroIsNoAck(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		t.Parallel()
		b := open(t, db, tables+handler(t, "work", "jobs", ""), untilEmpty)
		b.enqueue("jobs", "work", "i", "x", "i")
		b.drain()
		equal(t, "counts", b.counts("work"), Counts{Acked: 2, Delayed: 1})
		equal(t, "rows", b.rows("jobs", "payload", "attempt"), "x|2\n")
		if names := b.log.instances(); len(names) != 2 {
			t.Errorf("the instance that called proc_exit(0) was used again: %v", names)
		}
	})
}

// One trap disabled a plugin for good (envoy#39395, envoy#38801).
func TestCase38_OnePoisonRowIsDeadLetteredAnd999Succeed(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		t.Parallel()
		b := open(t, db, tables+handler(t, "work", "jobs", "threads = 2\nmax_attempts = 3\ndead_letter = \"dead\"\n"+
			`backoff = { initial = "1ms", max = "1ms" }`), untilEmpty)
		payloads := make([]string, 1000)
		for i := range payloads {
			payloads[i] = "fine"
		}
		payloads[500] = "trap"
		b.enqueue("jobs", "work", payloads...)
		b.drain()
		if c := b.counts("work"); c.Acked != 999 || c.DeadLettered != 1 || c.Delayed != 2 {
			t.Errorf("counts: %+v", c)
		}
		if rows := b.rows("jobs", "payload", "name", "attempt"); rows != "trap|dead|3\n" {
			t.Errorf("%d rows are left, want the dead letter alone; they begin with %.50q", strings.Count(rows, "\n"), rows)
			t.Errorf("again: %d rows are left, %+v", strings.Count(b.rows("jobs", "payload"), "\n"), b.counts("work"))
		}
	})
}

// Guest pointers went unchecked (fluvio#4652).
func TestCase37_AWildPointerIsRefusedByEveryFunction(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		t.Parallel()
		b := open(t, db, tables+handler(t, "work", "jobs", "on_failure = { outcome = \"drop\" }\n[handlers.work.config]\nhello = \"a value that is longer than thirty-two bytes\""), untilEmpty)
		for _, function := range "012345678" {
			b.enqueue("jobs", "work", "w"+string(function))
			b.enqueue("jobs", "work", "i")
		}
		b.script(`UPDATE jobs SET headers = '{"trace":"a value that is longer than thirty-two bytes"}'`)
		b.drain()
		// The guest makes 77, no outcome, of the contract's "bad argument", and an instance goes on after it.
		equal(t, "counts", b.counts("work"), Counts{Acked: 9, Dropped: 9})
		if names := b.log.instances(); len(names) != 1 {
			t.Errorf("instances: %v", names)
		}
		if n := b.log.count("returned 77"); n < 9 {
			t.Errorf("%d refusals, want 9", n)
		}
	})
}

// A heartbeat renewed the lease of a worker that hung (hibiken/asynq#1089).
func TestCase05_ALoopIsEndedByItsDeadlineAndNotExtended(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		t.Parallel()
		b := open(t, db, tables+handler(t, "work", "jobs", "threads = 2\ntimeout = \"200ms\"\nlease = \"1s\""), untilEmpty)
		b.enqueue("jobs", "work", "loop", "i", "i", "i")
		began := time.Now()
		b.drain()
		equal(t, "counts", b.counts("work"), Counts{Acked: 3, Delayed: 1})
		if took := time.Since(began); took > patience/2 {
			t.Errorf("it took %v", took)
		}
	})
}

// instances are the names that guests with the face "i" logged, each with its calls.
func (l *lines) instances() map[string]int {
	names := map[string]int{}
	for line := range strings.Lines(l.String()) {
		_, after, found := strings.Cut(line, `msg="`)
		if name, calls, ok := strings.Cut(after, ": "); found && ok && len(name) == 8 && strings.Trim(name, "abcdefghijklmnop") == "" {
			var n int
			fmt.Sscanf(calls, "%d", &n)
			names[name] = max(names[name], n)
		}
	}
	return names
}
