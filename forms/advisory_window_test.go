package forms_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// looking counts the looks for candidates.
type looking struct {
	store.Store
	looks atomic.Int64
}

func (l *looking) Query(ctx context.Context, s *dialect.Statement, n int, args []any, row func([][]byte) error) error {
	if strings.Contains(s.SQL, "__lock") {
		l.looks.Add(1)
	}
	return l.Store.Query(ctx, s, n, args, row)
}

// TestAdvisoryOneKeyIsReadOnce takes all rows of one key in their order, with far fewer looks than rows.
func TestAdvisoryOneKeyIsReadOnce(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		table := keyed(t, s, channels())
		put(t, s, table, "a", 300)
		l := &looking{Store: s}
		a := advisory(t, l, table)
		for i := range 300 {
			d, got := take(t, a, 50)
			if want := "a" + integer(i+1); got != want {
				t.Fatalf("claimed %q, want %q", got, want)
			}
			ends(t, a, forms.Done, finish(d[0]))
		}
		takes(t, a, 50, "")
		if n := l.looks.Load(); n > 60 {
			t.Errorf("300 rows of one key took %d looks", n)
		}
	})
}

// TestAdvisoryReturnedRowStaysFirst takes a row that was returned again before those behind it, though they were read
// together, and one that is hidden behind them.
func TestAdvisoryReturnedRowStaysFirst(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		table := keyed(t, s, channels())
		put(t, s, table, "a", 3)
		put(t, s, table, "b", 1)
		clock := newClock()
		a := advisory(t, s, table, clock.use)
		d := takes(t, a, 5, "a1 b1")
		ends(t, a, forms.Done, back(d[0]))
		again := takes(t, a, 5, "a1")
		equal(t, "attempt", number(again[0].Attempt), "2")
		ends(t, a, forms.Done, &forms.Settlement{Delivery: again[0], Change: forms.Return, Until: clock.now().Add(time.Minute)})
		d = append(takes(t, a, 5, "a2"), d[1])
		ends(t, a, forms.Done, finish(d[0]), finish(d[1]))
		clock.advance(time.Hour)
		d = takes(t, a, 5, "a3")
		ends(t, a, forms.Done, finish(d[0]))
		takes(t, a, 5, "a1")
	})
}

// TestAdvisoryRowsInFrontAreSeen takes a row that comes in front of those of its key that were read, once they are old.
func TestAdvisoryRowsInFrontAreSeen(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		table := keyed(t, s, channels())
		put(t, s, table, "a", 3)
		clock := newClock()
		a := advisory(t, s, table, clock.use, func(o *forms.Options) { o.Rescan = time.Second })
		d := takes(t, a, 5, "a1")
		script(t, s, "UPDATE jobs SET retry_after = '2001-01-01 00:00:00' WHERE "+s.Dialect().Quote("payload")+" = 'a3'")
		ends(t, a, forms.Done, finish(d[0]))
		clock.advance(time.Minute)
		d = takes(t, a, 5, "a3")
		ends(t, a, forms.Done, finish(d[0]))
		takes(t, a, 5, "a2")
	})
}

// TestAdvisoryLastAttemptIsNotTakenAhead leaves a row on its last attempt in the window for a claim that is not ahead.
func TestAdvisoryLastAttemptIsNotTakenAhead(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		table := keyed(t, s, channels())
		put(t, s, table, "a", 1)
		put(t, s, table, "b", 1)
		script(t, s, "UPDATE jobs SET attempt = 3 WHERE channel = 'a'")
		a := advisory(t, s, table, func(o *forms.Options) { o.MaxAttempts = 3 })
		ahead, err := a.Claim(t.Context(), 5, true)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "ahead", payloads(ahead), "b1")
		d := takes(t, a, 5, "a1")
		ends(t, a, forms.Done, finish(d[0]), finish(ahead[0]))
	})
}

// TestAdvisoryKeyThatChanges does not take a row by the lock of a key that it had when it was read.
func TestAdvisoryKeyThatChanges(t *testing.T) {
	db := testdb.Database{Name: "postgres", URL: testdb.Postgres(t)}
	s := open(t, db)
	table := keyed(t, s, channels())
	put(t, s, table, "a", 2)
	a := advisory(t, s, table)
	d := takes(t, a, 5, "a1")
	script(t, s, "UPDATE jobs SET channel = 'b' WHERE convert_from(payload, 'UTF8') = 'a2'")
	ends(t, a, forms.Done, finish(d[0]))
	d = takes(t, a, 5, "a2")
	equal(t, "locks of the new key", query(t, s, "SELECT count(*)::text FROM pg_locks WHERE locktype = 'advisory' "+
		"AND ((classid::bigint << 32) | objid::bigint) = hashtextextended('jobs-b', 0)"), "1")
	ends(t, a, forms.Done, finish(d[0]))
}

// TestAdvisoryRowThatRefuses takes and settles rows together of which one refuses it: the others go on, and no lock is
// left.
func TestAdvisoryRowThatRefuses(t *testing.T) {
	db := testdb.Database{Name: "postgres", URL: testdb.Postgres(t)}
	s := open(t, db)
	table := keyed(t, s, channels())
	for _, channel := range []string{"a", "b", "c"} {
		put(t, s, table, channel, 1)
	}
	script(t, s, `CREATE FUNCTION refuse() RETURNS trigger AS $$ BEGIN RAISE EXCEPTION 'not this one'; END $$ LANGUAGE plpgsql`)
	script(t, s, `CREATE TRIGGER refuse BEFORE UPDATE ON jobs FOR EACH ROW WHEN (OLD.channel = 'b') EXECUTE PROCEDURE refuse()`)
	clock := newClock()
	a := advisory(t, s, table, clock.use)
	d := takes(t, a, 5, "a1 c1")
	script(t, s, `CREATE TRIGGER refuse_removal BEFORE DELETE ON jobs FOR EACH ROW WHEN (OLD.channel = 'c') EXECUTE PROCEDURE refuse()`)
	equal(t, "answers", states(a.Settle(t.Context(), settlements(d, finish))), "done failed")
	equal(t, "rows", columns(t, s, table, "channel"), "b\nc")
	noLocks(t, s)
}

// TestAdvisoryManyRowsAtOnce takes and settles many rows together, by ids of two columns, some of which are gone by then.
func TestAdvisoryManyRowsAtOnce(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		table := keyed(t, s, &dialect.Table{Name: "jobs", ID: []string{"tenant", "number"}, Key: []dialect.KeyPart{{Column: "tenant"}, {Literal: "-"}, {Column: "number"}},
			Roles: roles(dialect.Attempt, dialect.Payload)})
		for i := range 40 {
			script(t, s, "INSERT INTO jobs (tenant, number, attempt, payload) VALUES ("+integer(i%2)+", "+integer(i)+", 1, 'x')")
		}
		gone := &meddling{Store: s}
		a := advisory(t, gone, table)
		gone.after = func() { script(t, s, "DELETE FROM jobs WHERE number < 4") }
		d, _ := take(t, a, 20)
		equal(t, "claimed", integer(len(d)), "20")
		script(t, s, "DELETE FROM jobs WHERE number = 10")
		answers := states(a.Settle(t.Context(), settlements(d, finish)))
		equal(t, "lost", integer(strings.Count(answers, "lost")), "1")
		equal(t, "done", integer(strings.Count(answers, "done")), "19")
		equal(t, "rows", count(t, s, table), "16")
		noLocks(t, s)
	})
}

// TestAdvisoryManyRowsOfHeldKeys bounds what is remembered of keys with many rows, and finds a free key behind more rows
// than that.
func TestAdvisoryManyRowsOfHeldKeys(t *testing.T) {
	db := testdb.Database{Name: "postgres", URL: testdb.Postgres(t)}
	s := open(t, db)
	table := keyed(t, s, channels())
	script(t, s, "INSERT INTO jobs (\"group\", channel, attempt, payload, retry_after) "+
		"SELECT 'g', 'held' || i / 1000, 1, 'x', '2001-01-01' FROM generate_series(0, 39999) AS i")
	a := advisory(t, s, table, func(o *forms.Options) { o.Rescan = time.Hour })
	held := 0
	for range 20 {
		d, _ := take(t, a, 500)
		held += len(d)
	}
	equal(t, "rows of the 40 keys", integer(held), "40")
	put(t, s, table, "free", 1)
	takes(t, a, 500, "free1")
}
