package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// fate is what a crash leaves of the row that was in work.
type fate struct {
	// where is the table that has the row, empty for none.
	where string
	// attempt is what the row counts.
	attempt int
	// leased says that nobody may claim it before its lease ends. Every other hold is free as soon as the
	// server notices that the client is gone.
	leased bool
	// calls is how often its handler begins, over all.
	calls int
}

var (
	gone = fate{calls: 1}
	dead = fate{where: "dead", attempt: 1, calls: 1}
)

// back is a row that is still in its queue.
func back(attempt, calls int) fate { return fate{where: "jobs", attempt: attempt, calls: calls} }

// leasedRow is back under a lease that has to end first.
func leasedRow(calls int) fate { return fate{where: "jobs", attempt: 2, leased: true, calls: calls} }

// crashes are the steps at which a process is killed, and what the specification allows then, by form.
//
// The lease form counts a delivery with its claim, and a crash spends it; the row is back when its lease
// ends. The row lock form counts with the settlement, so that a crash spends nothing, and the row is back
// at once. The advisory form counts with the take, and the lock is free at once.
var crashes = []struct {
	name, kind, moment string
	payload            string
	fates              map[string]fate
	// not says why a step is none on a database.
	not map[string]string
}{
	{"before the commit of the claim", atClaim, ran, ack,
		map[string]fate{"lease": back(1, 1), "advisory": back(1, 1)}, nil},
	{"after the claim", atClaim, committed, ack,
		map[string]fate{"lease": leasedRow(1), "advisory": back(2, 1)}, nil},
	{"after the claim", atClaim, ran, ack,
		map[string]fate{"row lock": back(1, 1)}, nil},
	{"after the lock and before the take", atLock, committed, ack,
		map[string]fate{"advisory": back(1, 1)}, map[string]string{"sqlite": noSessions}},
	{"in the handler", atCall, ran, ack,
		map[string]fate{"lease": leasedRow(2), "row lock": back(1, 2), "advisory": back(2, 2)}, nil},
	{"before the settlement", atFinish, before, ack,
		map[string]fate{"lease": leasedRow(2), "row lock": back(1, 2), "advisory": back(2, 2)}, nil},
	{"after the settlement's statement and before its commit", atFinish, ran, ack,
		map[string]fate{"lease": leasedRow(2), "row lock": back(1, 2), "advisory": back(2, 2)}, nil},
	{"after the settlement's commit and before its answer", atFinish, committed, ack,
		map[string]fate{"lease": gone, "row lock": gone, "advisory": gone}, nil},
	{"between the insert of a dead letter and its commit", atMove, ran, bury,
		map[string]fate{"lease": leasedRow(2), "row lock": back(1, 2), "advisory": back(2, 2)}, nil},
	{"after the commit of a dead letter and before its answer", atMove, committed, bury,
		map[string]fate{"lease": dead, "row lock": dead, "advisory": dead}, nil},
	{"between settle and unlock", atUnlock, before, ack,
		map[string]fate{"advisory": gone}, map[string]string{"sqlite": noSessions}},
	{"after the unlock and before its answer", atUnlock, committed, ack,
		map[string]fate{"advisory": gone}, map[string]string{"sqlite": noSessions}},
	{"before the commit of an extension", atExtend, ran, long,
		map[string]fate{"lease": leasedRow(2)}, nil},
	{"after the commit of an extension and before its answer", atExtend, committed, long,
		map[string]fate{"lease": leasedRow(2)}, nil},
	{"at the probe of its session", atProbe, before, long,
		map[string]fate{"row lock": back(1, 2), "advisory": back(2, 2)}, map[string]string{"sqlite": noSessions}},
}

const noSessions = "SQLite keeps no locks of sessions: the process has them, and the file's lock ends with it"

// Payloads, as the guest of testdata reads them: what it comes to, and after how many milliseconds.
const (
	ack  = "0"
	bury = "4"
	long = "0600000"
)

// crashRoles make a table of each form, beside what all have.
var crashRoles = map[string]string{
	"lease":    "locked_until = \"locked_until\"\n",
	"row lock": "",
	"advisory": "partition_key = \"name\"\nadvisory_lock = \"crash-{name}\"\n",
}

// crashLease is the lease, where it is extended two seconds: an expiry has random digits below the second, and
// with half a second more of a shorter lease an extension may keep the one that is there.
func crashLease(kind string) time.Duration {
	if kind == atExtend {
		return 2 * time.Second
	}
	return time.Second
}

// riverqueue/river#1258 and more: a process is killed at each step of a delivery. The row is then what the
// specification allows, its hold is free when it should be, and another process brings the queue to its
// end: no row is lost, and none is settled twice.
func TestKilledAtEachStep(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, database testdb.Database) {
		t.Parallel()
		for _, c := range crashes {
			for _, form := range []string{"lease", "row lock", "advisory"} {
				want, ok := c.fates[form]
				if !ok || database.Name == "sqlite" && form == "row lock" {
					continue
				}
				t.Run(form+"/"+c.name, func(t *testing.T) {
					if why := c.not[database.Name]; why != "" {
						t.Skip(why)
					}
					t.Parallel()
					crash(t, fresh(t, database), form, c.kind, c.moment, c.payload, want)
				})
			}
		}
	})
}

func crash(t *testing.T, database testdb.Database, form, kind, moment, payload string, want fate) {
	t.Helper()
	// The dead letter table has the columns of its source, and no handler.
	columns := crashRoles[form]
	target := "[tables.dead]\nid = \"id\"\nattempt = \"attempt\"\nretry_after = \"retry_after\"\npayload = \"payload\"\nerror = \"last_error\"\n" + columns
	b := newFormInbox(t, database, columns+target, slow(t), fmt.Sprintf("threads = 1\nclaim = 1\ndead_letter = \"dead\"\nmax_attempts = 5\ntimeout = \"30m\"\n%s",
		map[string]string{"lease": fmt.Sprintf("lease = \"%v\"\n", crashLease(kind))}[form]), "debug")
	name, value := "", ""
	if form == "advisory" {
		name, value = ", name", ", 'a'"
	}
	for id, text := range []string{payload, long, long} {
		b.exec(fmt.Sprintf("INSERT INTO jobs (id, payload%s) VALUES (%d, '%s'%s)", name, id+1, text, value))
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	first := start(t, program, dieCommand, kind, moment, b.config)
	if code := first.code(); code != -1 {
		t.Fatalf("the process did not die but ended with code %d", code)
	}
	died := time.Now()
	b.checkFate(form, want)
	if kind == atExtend {
		extended := b.rows(expiryText, "id = 1")["1"] != first.expiry()
		if extended != (moment == committed) {
			t.Errorf("the lease is extended: %v", extended)
		}
	}
	b.checkHold(form, crashLease(kind), want)
	eventually(t, "no dead process stands in the way of an update", func() bool {
		_, err := b.db.ExecContext(t.Context(), "UPDATE jobs SET payload = '0' WHERE payload = '"+long+"'")
		return err == nil
	})
	t.Logf("free after %v", time.Since(died).Round(time.Millisecond))

	second := b.start("serve")
	b.empty()
	second.terminate()
	b.checkEnd(first, second, form, payload, want)
}

// exec runs a statement.
func (b *inbox) exec(sql string) {
	b.t.Helper()
	if _, err := b.db.ExecContext(b.t.Context(), sql); err != nil {
		b.t.Fatal(err)
	}
}

// checkFate compares the tables with what a crash may leave in them.
func (b *inbox) checkFate(form string, want fate) {
	b.t.Helper()
	found := map[string]int{}
	for _, table := range []string{"jobs", "dead"} {
		var n int
		if err := b.db.QueryRowContext(b.t.Context(), "SELECT COUNT(*) FROM "+table+" WHERE id = 1").Scan(&n); err != nil {
			b.t.Fatal(err)
		}
		found[table] = n
	}
	wanted := map[string]int{"jobs": 0, "dead": 0}
	if want.where != "" {
		wanted[want.where] = 1
	}
	for table, n := range wanted {
		if found[table] != n {
			b.t.Errorf("row 1 is %d times in table %s, want %d", found[table], table, n)
		}
	}
	if n := b.count("id <> 1"); n != 2 {
		b.t.Errorf("%d of the 2 other rows are there", n)
	}
	if want.where != "jobs" {
		return
	}
	if got := b.rows("attempt", "id = 1")["1"]; got != fmt.Sprint(want.attempt) {
		b.t.Errorf("the attempt is %s, want %d", got, want.attempt)
	}
	if form != "lease" {
		return
	}
	expiry := b.rows(expiryText, "id = 1")["1"]
	if (expiry != "") != want.leased {
		b.t.Errorf("the lease is %q, want one: %v", expiry, want.leased)
	}
}

// checkHold waits until nothing of the dead process holds a row or a key, which has to be soon, but for a
// lease: that one ends by the clock.
func (b *inbox) checkHold(form string, lease time.Duration, want fate) {
	b.t.Helper()
	sql, free := "", "0"
	switch {
	case form == "lease" && want.leased:
		began := time.Now()
		eventually(b.t, "the lease is over", func() bool { return b.count(leased+" AND id = 1") == 0 })
		// An expiry has random digits below the second.
		if took := time.Since(began); took > lease+time.Second+soon {
			b.t.Errorf("the lease lasted for %v more", took)
		}
		return
	case form == "advisory" && b.name == "postgres":
		sql = "SELECT COUNT(*) FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
	case form == "advisory" && b.name == "mariadb":
		sql = "SELECT IS_USED_LOCK(CONCAT(LOWER(DATABASE()), '.crash-a')) IS NOT NULL"
	case form == "row lock":
		// How many of the rows are locked.
		sql, free = "SELECT COUNT(*) FROM (SELECT id FROM jobs FOR UPDATE SKIP LOCKED) AS free", fmt.Sprint(b.count(everyRow))
	default:
		return // SQLite: the second process starts, or it does not
	}
	began := time.Now()
	eventually(b.t, "the hold of the dead process is free", func() bool {
		var n string
		return b.db.QueryRowContext(b.t.Context(), sql).Scan(&n) == nil && n == free
	})
	if took := time.Since(began); took > soon {
		b.t.Errorf("the hold was free only after %v", took)
	}
}

// checkEnd has each row settled once, by one of the two processes or by what the first did unseen.
func (b *inbox) checkEnd(first, second *process, form, payload string, want fate) {
	b.t.Helper()
	outcomes := settledOnce(b.t, final, first, second)
	last := map[string]string{ack: "acked", long: "acked", bury: "dead_lettered"}[payload]
	if want.where != "jobs" {
		// Its settlement took effect, and at most the unlock was still to come.
		if by := second.count(settled("1", "")) + second.count(called("1")); by != 0 {
			b.t.Error("the second process had row 1 too")
		}
		outcomes["1"] = last
	}
	for id, outcome := range map[string]string{"1": last, "2": "acked", "3": "acked"} {
		if outcomes[id] != outcome {
			b.t.Errorf("row %s is settled as %q, want %q", id, outcomes[id], outcome)
		}
	}
	if n := first.count(called("1")) + second.count(called("1")); n != want.calls {
		b.t.Errorf("row 1 was delivered %d times, want %d", n, want.calls)
	}
	for _, l := range second.read() {
		if called("1")(&l) && l.Attempt != want.attempt {
			b.t.Errorf("the second delivery reads attempt %d, want %d", l.Attempt, want.attempt)
		}
	}
	var n int
	if err := b.db.QueryRowContext(b.t.Context(), "SELECT COUNT(*) FROM dead").Scan(&n); err != nil {
		b.t.Fatal(err)
	}
	if wanted := strings.Count(last, "dead_lettered"); n != wanted {
		b.t.Errorf("%d dead letters, want %d", n, wanted)
	}
	healthy(b.t, first, second)
}

// expiry is the lease that the process has told before its first extension.
func (p *process) expiry() string {
	p.t.Helper()
	for _, l := range p.read() {
		if l.Message == "expiry" {
			return l.State
		}
	}
	p.t.Fatal("the process extended nothing")
	return ""
}
