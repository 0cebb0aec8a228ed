package forms_test

import (
	"testing"
	"time"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/forms"
)

// TestAdvisoryOneRowOfAKey has a batch hold one row of each key, whichever form of the process holds it.
func TestAdvisoryOneRowOfAKey(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		table := keyed(t, s, channels())
		put(t, s, table, "a", 2)
		put(t, s, table, "b", 2)
		put(t, s, table, "c", 1)
		locks := forms.NewLocks()
		one, two := advisory(t, s, table, sharing(locks)), advisory(t, s, table, sharing(locks))
		ab := takes(t, one, 2, "a1 b1")
		c := takes(t, two, 5, "c1")
		takes(t, one, 5, "")
		ends(t, one, forms.Done, finish(ab[0]))
		a2 := takes(t, two, 5, "a2")
		ends(t, one, forms.Done, finish(ab[1]))
		ends(t, two, forms.Done, finish(c[0]), finish(a2[0]))
		b2 := takes(t, two, 5, "b2")
		ends(t, two, forms.Done, finish(b2[0]))
		equal(t, "rows", count(t, s, table), "0")
	})
}

// TestAdvisoryOutcomes looks at what each settlement leaves of its row.
func TestAdvisoryOutcomes(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		table := keyed(t, s, channels())
		target := create(t, s, &dialect.Table{Name: "dead_letters", ID: table.ID, Key: table.Key, Roles: table.Roles})
		for _, channel := range []string{"a", "b", "c", "d", "e", "f"} {
			put(t, s, table, channel, 1)
		}
		clock := newClock()
		a := advisory(t, s, table, clock.use, func(o *forms.Options) { o.DeadTable = target })
		d := takes(t, a, 10, "a1 b1 c1 d1 e1 f1")
		ends(t, a, forms.Done,
			finish(d[0]),
			back(d[1]),
			&forms.Settlement{Delivery: d[2], Change: forms.Return, Until: clock.now().Add(time.Hour), Reason: "later"},
			&forms.Settlement{Delivery: d[3], Change: forms.Return, Uncount: true},
			&forms.Settlement{Delivery: d[4], Change: forms.MoveToGroup, Reason: "to a group"},
			&forms.Settlement{Delivery: d[5], Change: forms.MoveToTable, Reason: "to a table"},
		)
		equal(t, "rows", columns(t, s, table, "group", "channel", "attempt", "error"),
			"g|b|2|-\ng|c|2|later\ng|d|1|-\ndead|e|1|to a group")
		equal(t, "dead letters", columns(t, s, target, "group", "channel", "attempt", "error"), "g|f|1|to a table")
		noLocks(t, s)
		again := takes(t, a, 10, "b1 d1")
		for i, want := range []int64{2, 1} {
			if again[i].Attempt != want {
				t.Errorf("row %s reads attempt %d, want %d", again[i].Payload, again[i].Attempt, want)
			}
		}
		clock.advance(2 * time.Hour)
		takes(t, a, 10, "c1")
	})
}

// TestAdvisoryRetryRunsNoStatement leaves a row that is returned at once as its claim left it, even for
// those who look at its version.
func TestAdvisoryRetryRunsNoStatement(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		table := keyed(t, s, channels())
		put(t, s, table, "a", 1)
		counted := &counting{Store: s}
		a := advisory(t, counted, table)
		d := takes(t, a, 1, "a1")
		before := counted.execs.Load()
		ends(t, a, forms.Done, &forms.Settlement{Delivery: d[0], Change: forms.Return, Until: time.Now()})
		if n := counted.execs.Load() - before; n != 0 {
			t.Errorf("a retry ran %d statements", n)
		}
		d = takes(t, a, 1, "a1")
		ends(t, a, forms.Done, &forms.Settlement{Delivery: d[0], Change: forms.Return, Reason: "kept"})
		if n := counted.execs.Load() - before; n == 0 {
			t.Error("a retry with a reason ran no statement")
		}
		equal(t, "error", columns(t, s, table, "attempt", "error"), "3|kept")
	})
}

// TestAdvisoryRowsThatAreGone passes over a candidate that somebody has settled, hidden or finished, and
// releases its lock at once.
func TestAdvisoryRowsThatAreGone(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		table := keyed(t, s, channels())
		put(t, s, table, "a", 1)
		put(t, s, table, "b", 1)
		gone := &meddling{Store: s}
		a := advisory(t, gone, table)
		gone.after = func() { script(t, s, "DELETE FROM "+quoted(s, table)+" WHERE channel = 'a'") }
		takes(t, a, 1, "b1")
		put(t, s, table, "a", 1)
		takes(t, a, 1, "a1")
	})
}

// TestAdvisoryWithoutAttempts takes rows of a table that counts none, and marks what is finished.
func TestAdvisoryWithoutAttempts(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		table := keyed(t, s, &dialect.Table{Name: "jobs", ID: []string{"id"}, Key: []dialect.KeyPart{{Column: "channel"}},
			Roles: roles(dialect.Group, dialect.ProcessedAt, dialect.Payload)})
		put(t, s, table, "a", 1)
		put(t, s, table, "", 1) // an empty key
		clock := newClock()
		a := advisory(t, s, table, clock.use)
		d := takes(t, a, 5, "a1 1")
		ends(t, a, forms.Done, finish(d[0]), &forms.Settlement{Delivery: d[1], Change: forms.Return, Until: clock.now().Add(time.Minute)})
		takes(t, a, 5, "")
		clock.advance(time.Hour)
		takes(t, a, 5, "1")
	})
}

// TestAdvisoryClose releases what is in work; later settlements change nothing.
func TestAdvisoryClose(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		table := keyed(t, s, channels())
		put(t, s, table, "a", 1)
		put(t, s, table, "b", 1)
		a := advisory(t, s, table)
		d := takes(t, a, 2, "a1 b1")
		closed, err := a.Close()
		if err != nil {
			t.Fatal(err)
		}
		if want := (forms.Closed{LocksReleased: 2}); closed != want {
			t.Errorf("closed %+v, want %+v", closed, want)
		}
		noLocks(t, s)
		ends(t, a, forms.Lost, finish(d[0]), finish(d[1]))
		if _, err := a.Claim(t.Context(), 1, false); err == nil {
			t.Error("a closed form claims")
		}
		other := advisory(t, s, table)
		takes(t, other, 2, "a1 b1")
	})
}

// TestAdvisoryKeyOfTwoTables has a key belong to the database: two tables whose keys match wait for each
// other.
func TestAdvisoryKeyOfTwoTables(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		table := keyed(t, s, channels())
		more := channels()
		more.Name = "more_jobs"
		create(t, s, more)
		put(t, s, table, "a", 1)
		put(t, s, more, "a", 1)
		put(t, s, more, "b", 1)
		locks := forms.NewLocks()
		one, two := advisory(t, s, table, sharing(locks)), advisory(t, s, more, sharing(locks))
		d := takes(t, one, 5, "a1")
		takes(t, two, 5, "b1")
		ends(t, one, forms.Done, finish(d[0]))
		takes(t, two, 5, "a1")
	})
}

// TestAdvisoryBudget bounds the locks of a session, whatever a claim asks for.
func TestAdvisoryBudget(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		table := keyed(t, s, &dialect.Table{Name: "jobs", ID: []string{"id"}, Key: []dialect.KeyPart{{Column: "id"}}, Roles: roles(dialect.Payload)})
		messages := make([]forms.Message, 600)
		for i := range messages {
			messages[i].Payload = []byte(integer(i))
		}
		write(t, s, table, messages...)
		a := advisory(t, s, table)
		d, _ := take(t, a, 600)
		equal(t, "claimed", integer(len(d)), "512")
		takes(t, a, 5, "")
		ends(t, a, forms.Done, settlements(d[:3], finish)...)
		takes(t, a, 5, "512 513 514")
	})
}
