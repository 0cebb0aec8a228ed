package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/inbox-wasm/inbox-wasm/examples/wasm/webhook/events/generator"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
	"github.com/inbox-wasm/inbox-wasm/internal/testwasm"
)

// last are the outcomes after which an event is not delivered again: a delay is an hour.
var last = append([]string{"delayed"}, final...)

const secret = "It's a Secret to Everybody"

// webhooks is the example's inbox with that many events waiting in it.
func webhooks(t *testing.T, database testdb.Database, events int, o options) *inbox {
	t.Helper()
	o.module = testwasm.Go(t, "../../examples/wasm/webhook/go")
	o.handler += "\nthreads = 2\nmax_attempts = 5\ndead_letter = \"dead\""
	o.settings = `secret = "` + secret + "\"\nnot_ready = \"" + generator.NotReady + "\"\nretry_delay = \"1h\""
	b := newInbox(t, database, o)
	b.run("enqueue", "jobs", "--jsonl", eventsFile(t, events), "--envelope")
	if got := b.count("name = 'work'"); got != events {
		t.Fatalf("%d of %d events are in the table", got, events)
	}
	return b
}

// eventsFile is a file of that many events, made once a run.
func eventsFile(t *testing.T, events int) string {
	t.Helper()
	name := filepath.Join(shared, strconv.Itoa(events)+".jsonl")
	if _, err := os.Stat(name); err == nil {
		return name
	}
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := generator.Write(file, generator.Options{Count: events, Seed: 2, Secret: secret}); err != nil {
		t.Fatal(err)
	}
	return name
}

// accounted checks that the table has exactly the rows that it should have after that many events, and
// that the logs of all processes agree with it row by row.
func accounted(t *testing.T, b *inbox, events int, processes ...*process) {
	t.Helper()
	dead := b.rows("last_error", "name = 'dead'")
	var forged, malformed, other int
	for id, reason := range dead {
		switch kind, _, _ := strings.Cut(reason, ":"); kind {
		case "forged":
			forged++
		case "malformed":
			malformed++
		default:
			other++
			t.Errorf("the dead letter %s has the reason %q", id, reason)
		}
	}
	left := b.rows("attempt", everyRow)
	got := generator.Expected{
		Acked:        events - len(left),
		DeadLettered: generator.DeadLettered{Forged: forged, Malformed: malformed},
		Delayed:      b.count(hidden),
	}
	if want := generator.Expect(events); got != want {
		t.Errorf("the table has %+v, and should have %+v", got, want)
	}
	if others := len(left) - got.Delayed - len(dead); others != 0 {
		t.Errorf("%d rows are neither dead nor delayed", others)
	}
	if n := b.count("locked_until IS NOT NULL"); n != 0 {
		t.Errorf("%d rows have a lease", n)
	}

	outcomes := settledOnce(t, last, processes...)
	for _, row := range with(outcomes, "acked") {
		if _, there := left[row]; there {
			t.Errorf("row %s was acked and is still there", row)
		}
	}
	for _, row := range with(outcomes, "dead_lettered") {
		if _, there := dead[row]; !there {
			t.Errorf("row %s was dead-lettered and is not in the group dead", row)
		}
	}
	healthy(t, processes...)
}

// events is how many events a run has.
func events(t *testing.T) int {
	t.Helper()
	if testing.Short() {
		return 2000
	}
	return 20_000
}

func TestEveryEventIsAccountedForOnce(t *testing.T) {
	testdb.Each(t, func(t *testing.T, database testdb.Database) { runToEnd(t, database, events(t), options{quiet: true}) })
}

// The race detector watches a smaller run, whose log is compared with the table row by row.
func TestEveryEventIsAccountedForOnceUnderTheRaceDetector(t *testing.T) {
	testdb.Each(t, func(t *testing.T, database testdb.Database) { runToEnd(t, database, 300, options{race: true}) })
}

func runToEnd(t *testing.T, database testdb.Database, events int, o options) {
	b := webhooks(t, database, events, o)
	begin := time.Now()
	p := b.start("serve", "--until-empty", "--json")
	p.succeed()
	took := time.Since(begin)
	t.Logf("%d events in %.1f s: %.0f a second, start included", events, took.Seconds(), float64(events)/took.Seconds())

	accounted(t, b, events, p)
	want := generator.Expect(events)
	wantReport := report{Acked: want.Acked, DeadLettered: want.DeadLettered.Forged + want.DeadLettered.Malformed, Delayed: want.Delayed}
	wantReport.Waiting.Delayed = want.Delayed
	if got := p.report(); got != wantReport {
		t.Errorf("the report is %+v, and should be %+v", got, wantReport)
		for _, l := range p.read() {
			if lost("")(&l) || strings.HasPrefix(l.Message, "not settled") {
				t.Errorf("%+v", l)
			}
		}
	}

	for id, attempt := range b.rows("attempt", "name = 'dead'") {
		if attempt != "1" {
			t.Errorf("the dead letter %s has the attempt %s; its first failed", id, attempt)
		}
	}
	if o.quiet {
		return
	}
	// Without a kill the log is whole, and agrees with the table in every single row.
	outcomes := settledOnce(t, last, p)
	if got, want := len(with(outcomes, "acked")), want.Acked; got != want {
		t.Errorf("the log has %d acks, and should have %d", got, want)
	}
	if got, want := with(outcomes, "dead_lettered"), keys(b.rows("attempt", "name = 'dead'")); !slices.Equal(got, want) {
		t.Errorf("the log's dead letters are not the table's: %d and %d", len(got), len(want))
	}
	if got, want := with(outcomes, "delayed"), keys(b.rows("attempt", hidden)); !slices.Equal(got, want) {
		t.Errorf("the log's delays are not the table's: %d and %d", len(got), len(want))
	}
}

// riverqueue/river#1258: rows stayed in work for ever after a crash. Here the process is killed three
// times in one run, and started again each time.
func TestKilledRunsLoseAndRepeatNothing(t *testing.T) {
	testdb.Each(t, func(t *testing.T, database testdb.Database) { killedRun(t, database, events(t), 3) })
}

func killedRun(t *testing.T, database testdb.Database, events, kills int) {
	b := webhooks(t, database, events, options{handler: `lease = "2s"`})
	var processes []*process
	inWork := 0
	for i := range kills {
		p := b.start("serve")
		processes = append(processes, p)
		atMost := events - (i+1)*events/(kills+2)
		eventually(t, "enough rows are gone for the next kill", func() bool { return b.count(everyRow) <= atMost })
		p.kill()
		inWork += b.comesBackWithinALease(2 * time.Second)
	}
	p := b.start("serve")
	processes = append(processes, p)
	b.untilNothingIsDue()
	p.terminate()
	accounted(t, b, events, processes...)
	t.Logf("%d kills with %d rows in work", kills, inWork)
	if inWork == 0 {
		t.Error("no kill met a row in work, so the test shows nothing")
	}
}

// Two processes share a table, and one of them dies.
func TestOneOfTwoProcessesIsKilled(t *testing.T) {
	testdb.Each(t, func(t *testing.T, database testdb.Database) {
		if database.Name == "sqlite" {
			return // the program on SQLite has its file to itself
		}
		events := events(t) / 5
		b := webhooks(t, database, events, options{handler: `lease = "2s"`})
		killed, other := b.start("serve"), b.start("serve")
		eventually(t, "both processes have settled rows", func() bool {
			return killed.count(settled("", "")) > events/20 && other.count(settled("", "")) > events/20
		})
		killed.kill()
		inWork := b.comesBackWithinALease(2 * time.Second)
		b.untilNothingIsDue()
		other.terminate()
		accounted(t, b, events, killed, other)
		t.Logf("killed with %d rows in work in both", inWork)
	})
}

// A move to a dead letter table is one transaction: a kill leaves each row in one of the two tables.
func TestKilledMovesLoseAndRepeatNothing(t *testing.T) {
	testdb.Each(t, func(t *testing.T, database testdb.Database) {
		const rows, kills = 3000, 4
		b := newInbox(t, database, options{module: slow(t), tables: deadTable,
			handler: "threads = 2\nmax_attempts = 9\ndead_letter = \"dead_jobs\"\nlease = \"1s\""})
		b.enqueue(repeat("4", rows)...)
		var processes []*process
		for i := range kills {
			p := b.start("serve")
			processes = append(processes, p)
			atMost := rows - (i+1)*rows/(kills+1)
			eventually(t, "enough rows are moved for the next kill", func() bool { return b.count(everyRow) <= atMost })
			p.kill()
			var both, all int
			if err := b.db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM jobs JOIN dead_jobs ON jobs.id = dead_jobs.id").Scan(&both); err != nil {
				t.Fatal(err)
			}
			if err := b.db.QueryRowContext(t.Context(), "SELECT (SELECT COUNT(*) FROM jobs) + (SELECT COUNT(*) FROM dead_jobs)").Scan(&all); err != nil {
				t.Fatal(err)
			}
			if both != 0 || all != rows {
				t.Errorf("%d rows are in both tables, and %d of %d in one", both, all, rows)
			}
		}
		p := b.start("serve")
		processes = append(processes, p)
		b.empty()
		p.terminate()
		var dead int
		if err := b.db.QueryRowContext(t.Context(), "SELECT COUNT(DISTINCT id) FROM dead_jobs").Scan(&dead); err != nil {
			t.Fatal(err)
		}
		if dead != rows {
			t.Errorf("%d of %d rows are dead letters", dead, rows)
		}
		settledOnce(t, final, processes...)
		healthy(t, processes...)
	})
}

const deadTable = `
[tables.dead_jobs]
id = "id"
group = "name"
attempt = "attempt"
retry_after = "retry_after"
locked_until = "locked_until"
headers = "headers"
payload = "payload"
error = "last_error"
`

// comesBackWithinALease checks that no lease ends later than one lease from now, and the second that
// its random digits may add, and returns how many rows are in work.
func (b *inbox) comesBackWithinALease(lease time.Duration) int {
	b.t.Helper()
	held := b.rows("locked_until", leased)
	// Another process may have claimed rows until they were read.
	latest := time.Now().Add(lease + time.Second)
	for id, text := range held {
		expiry, err := readTime(text)
		if err != nil {
			b.t.Fatal(err)
		}
		if expiry.After(latest) {
			b.t.Errorf("row %s is held until %s, later than %s", id, at(expiry), at(latest))
		}
	}
	return len(held)
}

// readTime reads a time as the drivers give it as text.
func readTime(text string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02 15:04:05.999999"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return time.Parse("2006-01-02 15:04:05.999999-07", text)
}

// untilNothingIsDue waits until no row is due or in work.
func (b *inbox) untilNothingIsDue() {
	b.t.Helper()
	eventually(b.t, "no row is due", func() bool { return b.count(due) == 0 })
	eventually(b.t, "no row is in work", func() bool { return b.count("locked_until IS NOT NULL") == 0 })
}
