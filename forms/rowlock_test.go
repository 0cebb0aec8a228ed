package forms_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// rowLocked is leased without its lease; bare is one without what can hide a row.
func rowLocked() *dialect.Table { return without(leased(), dialect.LockedUntil) }

func bare() *dialect.Table {
	return &dialect.Table{Name: "jobs", ID: []string{"id"}, Roles: roles(dialect.Payload, dialect.Attempt, dialect.Error)}
}

func without(table *dialect.Table, list ...dialect.Role) *dialect.Table {
	for _, r := range list {
		delete(table.Roles, r)
	}
	return table
}

// rowLock is the form over a table, reading the group "g".
func rowLock(t *testing.T, s store.Store, table *dialect.Table, change ...func(*forms.Options)) *forms.RowLock {
	t.Helper()
	o := forms.Options{Table: table, Now: time.Now}
	if table.Has(dialect.Group) {
		o.Group, o.DeadGroup = "g", "dead"
	}
	for _, c := range change {
		c(&o)
	}
	form, err := forms.NewRowLock(s, o)
	if err != nil {
		t.Fatal(err)
	}
	return form
}

// eachRowLock runs a test on every database that has the form.
func eachRowLock(t *testing.T, run func(t *testing.T, s store.Store)) {
	t.Helper()
	eachWithRowLocks(t, func(t *testing.T, db testdb.Database) { run(t, open(t, db)) })
}

// giveBack ends the test's hold on deliveries, so that the pool can be closed.
func giveBack(t *testing.T, form forms.Form, deliveries []*forms.Delivery) {
	t.Helper()
	form.Settle(t.Context(), settlements(deliveries, unstarted))
}

func unstarted(d *forms.Delivery) *forms.Settlement {
	return &forms.Settlement{Delivery: d, Change: forms.Return, Uncount: true}
}

// kill ends every other session of the test's database, as a crash of their process would.
func kill(t *testing.T, s store.Store) {
	t.Helper()
	if s.Dialect().Name() == "PostgreSQL" {
		query(t, s, "SELECT pg_terminate_backend(pid)::text FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
		return
	}
	ids := query(t, s, "SELECT id FROM information_schema.processlist WHERE db = DATABASE() AND id <> CONNECTION_ID()")
	for _, id := range strings.Fields(ids) {
		script(t, s, "KILL "+id)
	}
}

func TestSQLiteHasNoRowLocks(t *testing.T) {
	s := open(t, testdb.Database{Name: "sqlite", URL: testdb.SQLite(t)})
	_, err := forms.New(s, forms.Options{Table: create(t, s, rowLocked()), Now: time.Now})
	for _, want := range []string{"no row locks", "lease form", "locked_until", "advisory form", "advisory_lock"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want it to say %q", err, want)
		}
	}
}

func TestRowLockClaimsInOrderAndSkipsLockedRows(t *testing.T) {
	eachWithRowLocks(t, func(t *testing.T, db testdb.Database) {
		one, two := open(t, db), open(t, db)
		table := create(t, one, rowLocked())
		first, second := rowLock(t, one, table), rowLock(t, two, table)
		low, high := int64(1), int64(9)
		write(t, one, table,
			forms.Message{Group: "g", Payload: []byte("late"), Priority: &high},
			forms.Message{Group: "g", Payload: []byte("hidden"), Priority: &low, Delay: time.Hour},
			forms.Message{Group: "g", Payload: []byte("a"), Priority: &low},
			forms.Message{Group: "other", Payload: []byte("other"), Priority: &low},
			forms.Message{Group: "g", Payload: []byte("b"), Priority: &low})
		held := claim(t, first, 1)
		equal(t, "the first process", payloads(held), "a")
		rest := claim(t, second, 10)
		equal(t, "the second process", payloads(rest), "b late")
		equal(t, "nothing is left", payloads(claim(t, first, 10)), "")
		settle(t, first, forms.Done, finish(held[0]))
		settle(t, second, forms.Done, settlements(rest, back)...)
		equal(t, "afterwards", columns(t, one, table, "payload", "attempt"), "late|2\nhidden|1\nother|1\nb|2")
	})
}

func TestRowLockBatchTakesEffectTogether(t *testing.T) {
	eachWithRowLocks(t, func(t *testing.T, db testdb.Database) {
		s, other := open(t, db), open(t, db)
		table := create(t, s, rowLocked())
		form := rowLock(t, s, table)
		fill(t, s, table, 4)
		batch := claim(t, form, 3)
		equal(t, "while it is in work", columns(t, other, table, "payload", "attempt"), "1|1\n2|1\n3|1\n4|1")
		settle(t, form, forms.Done, finish(batch[0]), back(batch[1]), &forms.Settlement{Delivery: batch[2], Change: forms.MoveToGroup, Reason: "no"})
		equal(t, "afterwards", columns(t, other, table, "payload", "group", "attempt", "error"), "2|g|2|-\n3|dead|1|no\n4|g|1|-")
		settle(t, form, forms.Lost, finish(batch[1]))
	})
}

// TestRowLockRollsABatchBack when one of its statements fails, and claims its rows again one by one.
func TestRowLockRollsABatchBack(t *testing.T) {
	eachRowLock(t, func(t *testing.T, s store.Store) {
		table := create(t, s, rowLocked())
		script(t, s, poisonTrigger(s))
		form := rowLock(t, s, table, func(o *forms.Options) { o.Backoff = func(*forms.Delivery) time.Duration { return time.Hour } })
		fill(t, s, table, 5)
		script(t, s, "UPDATE jobs SET error = 'poison' WHERE payload = '2'")
		batch := claim(t, form, 3)
		answers := form.Settle(t.Context(), settlements(batch, finish))
		equal(t, "answers", states(answers), "rolled back rolled back rolled back")
		if !strings.Contains(answers[0].Err.Error(), "poison") {
			t.Errorf("the error does not say why: %v", answers[0].Err)
		}
		equal(t, "rows", columns(t, s, table, "payload", "attempt"), "1|1\n2|1\n3|1\n4|1\n5|1")
		var seen []string
		for form.Alone() {
			one := claim(t, form, 3)
			seen = append(seen, payloads(one))
			want := forms.Done
			if payloads(one) == "2" {
				want = forms.RolledBack
			}
			settle(t, form, want, finish(one[0]))
		}
		equal(t, "one by one", strings.Join(seen, ", "), "1, 2, 3")
		rest := claim(t, form, 3)
		equal(t, "the refused row is left out", payloads(rest), "4 5")
		settle(t, form, forms.Done, settlements(rest, finish)...)
		equal(t, "nothing else", payloads(claim(t, form, 3)), "")
	})
}

// poisonTrigger keeps rows whose error is "poison" from being deleted.
func poisonTrigger(s store.Store) string {
	if s.Dialect().Name() == "PostgreSQL" {
		return `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			IF OLD.error = 'poison' THEN RAISE EXCEPTION 'poison'; END IF; RETURN OLD; END $$;
			CREATE TRIGGER refuse BEFORE DELETE ON jobs FOR EACH ROW EXECUTE FUNCTION refuse()`
	}
	return `CREATE TRIGGER refuse BEFORE DELETE ON jobs FOR EACH ROW
		IF OLD.error = 'poison' THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'poison'; END IF`
}

// TestRowLockCrash has the rows of a session that is gone back at once.
func TestRowLockCrash(t *testing.T) {
	eachWithRowLocks(t, func(t *testing.T, db testdb.Database) {
		s, other := open(t, db), open(t, db)
		table := create(t, s, rowLocked())
		form, next := rowLock(t, s, table), rowLock(t, other, table)
		fill(t, s, table, 2)
		batch := claim(t, form, 2)
		extend(t, form, forms.Done, batch...)
		kill(t, other)
		var again []*forms.Delivery
		eventually(t, func() string {
			again = append(again, claim(t, next, 2)...)
			return payloads(again)
		})
		if again[0].Attempt != 1 {
			t.Errorf("a crash counted an attempt: %d", again[0].Attempt)
		}
		extend(t, form, forms.Lost, batch...)
		settle(t, form, forms.Lost, settlements(batch, finish)...)
		settle(t, next, forms.Done, settlements(again, finish)...)
		equal(t, "rows", count(t, other, table), "0")
	})
}

// TestRowLockSettlementOnADeadConnection is not repeated, and its rows are back.
func TestRowLockSettlementOnADeadConnection(t *testing.T) {
	eachWithRowLocks(t, func(t *testing.T, db testdb.Database) {
		s, other := open(t, db), open(t, db)
		table := create(t, s, rowLocked())
		form, next := rowLock(t, s, table), rowLock(t, other, table)
		fill(t, s, table, 1)
		one := claim(t, form, 1)
		kill(t, other)
		answer := form.Settle(t.Context(), settlements(one, finish))[0]
		if answer.State != forms.Unknown && answer.State != forms.RolledBack || answer.Err == nil {
			t.Errorf("%v (%v), want it unknown or rolled back, with its error", answer.State, answer.Err)
		}
		var again []*forms.Delivery
		eventually(t, func() string { again = claim(t, next, 1); return payloads(again) })
		settle(t, next, forms.Done, finish(again[0]))
	})
}

func TestRowLockOutcomes(t *testing.T) {
	eachRowLock(t, func(t *testing.T, s store.Store) {
		table, host := create(t, s, rowLocked()), newClock()
		target := create(t, s, &dialect.Table{Name: "dead_letters", ID: table.ID, Roles: table.Roles})
		form := rowLock(t, s, table, host.use, func(o *forms.Options) { o.DeadTable = target })
		fill(t, s, table, 6)
		d := claim(t, form, 6)
		soon := host.now().Add(time.Hour)
		settle(t, form, forms.Done,
			finish(d[0]),
			&forms.Settlement{Delivery: d[1], Change: forms.Return, Reason: "later\x00", Until: soon},
			&forms.Settlement{Delivery: d[2], Change: forms.Return, Uncount: true, Until: soon},
			unstarted(d[3]),
			&forms.Settlement{Delivery: d[4], Change: forms.MoveToGroup, Uncount: true, Reason: "group"},
			&forms.Settlement{Delivery: d[5], Change: forms.MoveToTable, Uncount: true, Reason: "table"})
		equal(t, "rows", columns(t, s, table, "payload", "group", "attempt", "error"), "2|g|2|later\uFFFD\n3|g|1|-\n4|g|1|-\n5|dead|1|group")
		equal(t, "dead letters", columns(t, s, target, "id", "payload", "attempt", "error"), "6|6|1|table")
		now := claim(t, form, 6)
		equal(t, "due now", payloads(now), "4")
		giveBack(t, form, now)
		host.advance(2 * time.Hour)
		later := claim(t, form, 6)
		equal(t, "due later", payloads(later), "4 2 3")
		giveBack(t, form, later)
	})
}

func TestRowLockMarksFinishedRows(t *testing.T) {
	eachRowLock(t, func(t *testing.T, s store.Store) {
		table := create(t, s, without(everyRole(), dialect.LockedUntil))
		form := rowLock(t, s, table)
		fill(t, s, table, 2)
		settle(t, form, forms.Done, finish(claimOne(t, form)))
		equal(t, "rows", count(t, s, table), "2")
		one := claim(t, form, 2)
		equal(t, "unfinished", payloads(one), "2")
		giveBack(t, form, one)
	})
}

// TestRowLockAttempt is counted by what gives the row back, and by nothing else.
func TestRowLockAttempt(t *testing.T) {
	eachRowLock(t, func(t *testing.T, s store.Store) {
		table := create(t, s, rowLocked())
		form := rowLock(t, s, table)
		fill(t, s, table, 1)
		settle(t, form, forms.Done, back(attempt(t, form, 1)))
		settle(t, form, forms.Done, unstarted(attempt(t, form, 2)))
		settle(t, form, forms.Done, back(attempt(t, form, 2)))
		top := table.Column(dialect.Attempt).Max
		script(t, s, "UPDATE jobs SET attempt = "+number(top))
		settle(t, form, forms.Done, back(attempt(t, form, top)))
		settle(t, form, forms.Done, finish(attempt(t, form, top)))
	})
}

func TestRowLockAttemptThatIsNull(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		if db.Name == "sqlite" {
			t.Skip("SQLite has no row locks")
		}
		s := open(t, db)
		table := createAs(t, s, rowLocked(), nullable[db.Name])
		form := rowLock(t, s, table)
		fill(t, s, table, 1)
		script(t, s, "UPDATE jobs SET attempt = NULL")
		settle(t, form, forms.Done, back(attempt(t, form, 1)))
		settle(t, form, forms.Done, finish(attempt(t, form, 2)))
	})
}

// TestRowLockLeavesOutWhatNoColumnHides for this process alone.
func TestRowLockLeavesOutWhatNoColumnHides(t *testing.T) {
	eachWithRowLocks(t, func(t *testing.T, db testdb.Database) {
		s, other := open(t, db), open(t, db)
		table, host := create(t, s, bare()), newClock()
		form, elsewhere := rowLock(t, s, table, host.use), rowLock(t, other, table, host.use)
		fill(t, s, table, 12)
		batch := claim(t, form, 10)
		until := host.now().Add(time.Minute)
		settle(t, form, forms.Done, settlements(batch, func(d *forms.Delivery) *forms.Settlement {
			return &forms.Settlement{Delivery: d, Change: forms.Return, Until: until}
		})...)
		here := claim(t, form, 20)
		equal(t, "here", payloads(here), "11 12")
		there := claim(t, elsewhere, 20)
		equal(t, "elsewhere", payloads(there), "1 2 3 4 5 6 7 8 9 10")
		giveBack(t, form, here)
		giveBack(t, elsewhere, there)
		host.advance(2 * time.Minute)
		again := claim(t, form, 20)
		equal(t, "later", payloads(again), "1 2 3 4 5 6 7 8 9 10 11 12")
		giveBack(t, form, again)
	})
}

func TestRowLockLevels(t *testing.T) {
	kept := map[string][]string{
		"postgres": {"read_committed", "repeatable_read", "serializable"},
		"mariadb":  {"read_uncommitted", "read_committed", "repeatable_read", "serializable"},
	}
	eachWithRowLocks(t, func(t *testing.T, db testdb.Database) {
		s := open(t, db)
		table := create(t, s, rowLocked())
		for _, level := range []string{"read_uncommitted", "read_committed", "repeatable_read", "serializable", "snapshot"} {
			set := func(o *forms.Options) { o.Level = dialect.Level(level) }
			if !strings.Contains(strings.Join(kept[db.Name], " "), level) {
				_, err := forms.NewRowLock(s, forms.Options{Table: table, Now: time.Now, Level: dialect.Level(level)})
				if err == nil || !strings.Contains(err.Error(), "it keeps "+strings.Join(kept[db.Name], ", ")) {
					t.Errorf("%s: %v, want an error that lists the levels", level, err)
				}
				continue
			}
			form := rowLock(t, s, table, set)
			fill(t, s, table, 2)
			settle(t, form, forms.Done, settlements(claim(t, form, 2), back)...)
			equal(t, "the transaction's level", workLevel(t, s, table, dialect.Level(level)), level)
		}
	})
}

// workLevel begins a transaction at a level and says at which one it behaves.
func workLevel(t *testing.T, s store.Store, table *dialect.Table, level dialect.Level) string {
	t.Helper()
	session, err := s.Hold(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	answer := ""
	count := store.Step{Statement: &dialect.Statement{SQL: "SELECT CAST(COUNT(payload) AS CHAR(20)) FROM jobs"}, Row: func(v [][]byte) error {
		answer = strings.TrimSpace(string(v[0]))
		return nil
	}}
	tx, err := session.BeginWork(t.Context(), store.TxOptions{Level: level}, count)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := errors.Join(session.Ping(t.Context()), tx.Rollback(), session.Release()); err != nil {
			t.Error(err)
		}
	}()
	again := func(sql string) string {
		if err := tx.Query(t.Context(), &dialect.Statement{SQL: sql}, 0, nil, count.Row); err != nil {
			t.Fatal(err)
		}
		return answer
	}
	before := answer
	if s.Dialect().Name() == "PostgreSQL" {
		equal(t, "idle timeout", again("SELECT current_setting('idle_in_transaction_session_timeout')"), "0")
		return strings.ReplaceAll(again("SELECT current_setting('transaction_isolation')"), " ", "_")
	}
	if query(t, s, "SELECT id FROM jobs FOR UPDATE SKIP LOCKED") == "" {
		return string(dialect.Serializable)
	}
	other := begin(t, s, "INSERT INTO jobs (`group`, payload) VALUES ('other', '')")
	uncommitted := again(count.Statement.SQL)
	if err := other.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	switch committed := again(count.Statement.SQL); {
	case uncommitted != before:
		return string(dialect.ReadUncommitted)
	case committed != before:
		return string(dialect.ReadCommitted)
	}
	return string(dialect.RepeatableRead)
}
