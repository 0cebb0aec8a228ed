package forms_test

import (
	"testing"
	"time"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// marked are tables whose claim order has no priorities, by the type of their retry_after.
func marked(t *testing.T, s store.Store, db testdb.Database, order string) *dialect.Table {
	t.Helper()
	table := &dialect.Table{Name: "jobs", ID: []string{"id"}, Roles: roles(dialect.Group, dialect.Attempt, dialect.LockedUntil, dialect.Payload)}
	if order == "id" {
		return create(t, s, table)
	}
	table.Roles[dialect.RetryAfter] = "retry_after"
	if order == "retry_after, id" {
		return create(t, s, table)
	}
	return createAs(t, s, table, map[string]string{"retry_after": nullable[db.Name]["retry_after"]})
}

// Claims begin where the last one ended: what comes back or appears in front of it is found where a claim is short, at
// once where this process has given it back, and otherwise after a while.
func TestClaimsBeginAtAMark(t *testing.T) {
	for _, order := range []string{"id", "retry_after, id", "retry_after or NULL, id"} {
		t.Run(order, func(t *testing.T) {
			testdb.Each(t, func(t *testing.T, db testdb.Database) {
				s := open(t, db)
				table := marked(t, s, db, order)
				fill(t, s, table, 30)
				now := time.Now()
				l := lease(t, s, table, func(o *forms.Options) {
					o.Rescan, o.Now = time.Second, func() time.Time { return now }
				})
				early := func(id, payload string) {
					if order == "retry_after, id" {
						insert(t, s, table, "id payload group retry_after", "("+id+", '"+payload+"', 'g', '2020-01-01 00:00:00')")
					} else {
						insert(t, s, table, "id payload group", "("+id+", '"+payload+"', 'g')")
					}
				}
				first := claim(t, l, 5)
				equal(t, "the first claim", payloads(first), "1 2 3 4 5")
				settle(t, l, forms.Done, back(first[1]))
				equal(t, "with one that came back", payloads(claim(t, l, 3)), "2 6 7")
				equal(t, "behind it", payloads(claim(t, l, 3)), "8 9 10")

				early("-1", "early")
				equal(t, "with one that is overlooked", payloads(claim(t, l, 2)), "11 12")
				now = now.Add(time.Second)
				equal(t, "a while later", payloads(claim(t, l, 2)), "early 13")

				early("-2", "earlier")
				equal(t, "a claim that would come back short", payloads(claim(t, l, 100)), "earlier 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30")
				early("-3", "earliest")
				equal(t, "after a short one", payloads(claim(t, l, 1)), "earliest")
			})
		})
	}
}

// Claims that run ahead leave out the rows on their last attempt, and do not hide them from those that do not.
func TestClaimsAheadHideNothing(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		s := open(t, db)
		table := marked(t, s, db, "id")
		now := time.Now()
		l := lease(t, s, table, func(o *forms.Options) {
			o.Rescan, o.MaxAttempts, o.Now = time.Second, 3, func() time.Time { return now }
		})
		insert(t, s, table, "payload group attempt", "('1', 'g', 0), ('last', 'g', 3), ('2', 'g', 0), ('3', 'g', 0), ('4', 'g', 0), ('5', 'g', 0)")
		equal(t, "the first claim", payloads(claim(t, l, 1)), "1")
		for _, want := range []string{"2", "3"} {
			ahead, err := l.Claim(t.Context(), 1, true)
			if err != nil {
				t.Fatal(err)
			}
			equal(t, "ahead", payloads(ahead), want)
			now = now.Add(400 * time.Millisecond)
		}
		now = now.Add(400 * time.Millisecond)
		equal(t, "for a thread", payloads(claim(t, l, 1)), "last")
	})
}

// Rows whose retry has come are behind the mark, and are found once nothing new is left.
func TestRetriesBehindTheMark(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		s := open(t, db)
		table := marked(t, s, db, "retry_after or NULL, id")
		l := lease(t, s, table, func(o *forms.Options) { o.Rescan = time.Hour })
		fill(t, s, table, 4)
		insert(t, s, table, "id payload group retry_after", "(-1, 'retried', 'g', '2020-01-01 00:00:00')")
		equal(t, "the first claim", payloads(claim(t, l, 2)), "1 2")
		equal(t, "the next", payloads(claim(t, l, 2)), "3 4")
		equal(t, "the last", payloads(claim(t, l, 2)), "retried")
	})
}
