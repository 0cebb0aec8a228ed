package forms_test

import (
	"testing"

	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// attempt claims one row and wants it on that attempt.
func attempt(t *testing.T, l forms.Form, want int64) *forms.Delivery {
	t.Helper()
	d := claimOne(t, l)
	if d.Attempt != want {
		t.Fatalf("attempt %d, want %d", d.Attempt, want)
	}
	return d
}

// TestAttempt reads 1 first, counts retries and crashes, and not what never ran.
func TestAttempt(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		table, host := create(t, s, leased()), newClock()
		l := lease(t, s, table, host.use)
		fill(t, s, table, 1)
		settle(t, l, forms.Done, back(attempt(t, l, 1)))
		attempt(t, l, 2)
		equal(t, "while it is held", payloads(claim(t, l, 1)), "")
		host.advance(afterLease) // the crash
		snoozed := attempt(t, l, 3)
		settle(t, l, forms.Done, &forms.Settlement{Delivery: snoozed, Change: forms.Return, Uncount: true})
		settle(t, l, forms.Done, back(attempt(t, l, 3)))
		attempt(t, l, 4)
	})
}

// TestAttemptSaturates at the top of its type instead of failing the claim (river#720).
func TestAttemptSaturates(t *testing.T) {
	types := map[string]map[string]int64{
		"postgres": {"smallint": 32767, "integer": 1<<31 - 1, "bigint": 1<<63 - 1},
		"mariadb":  {"tinyint": 127, "tinyint unsigned": 255, "smallint": 32767, "bigint": 1<<63 - 1},
		"sqlite":   {"INTEGER": 1<<63 - 1},
	}
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		s := open(t, db)
		for typeName, top := range types[db.Name] {
			t.Run(typeName, func(t *testing.T) {
				table, host := createAs(t, s, leased(), map[string]string{"attempt": typeName + " NOT NULL DEFAULT 1"}), newClock()
				defer script(t, s, "DROP TABLE jobs")
				l := lease(t, s, table, host.use)
				fill(t, s, table, 1)
				script(t, s, "UPDATE jobs SET attempt = "+number(top-1))
				if first := claimOne(t, l); first.Attempt < top-1 {
					t.Errorf("attempt %d, want about %d", first.Attempt, top-1)
				}
				host.advance(afterLease)
				settle(t, l, forms.Done, back(attempt(t, l, top)))
				snoozed := attempt(t, l, top)
				extend(t, l, forms.Done, snoozed)
				settle(t, l, forms.Done, &forms.Settlement{Delivery: snoozed, Change: forms.Return, Uncount: true})
				last := attempt(t, l, top)
				equal(t, "attempt", columns(t, s, table, "attempt"), number(top))
				settle(t, l, forms.Done, finish(last))
				equal(t, "rows", count(t, s, table), "0")
			})
		}
	})
}

// TestAttemptThatIsNull is the first one.
func TestAttemptThatIsNull(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		s := open(t, db)
		table := createAs(t, s, leased(), nullable[db.Name])
		l := lease(t, s, table)
		fill(t, s, table, 1)
		settle(t, l, forms.Done, back(attempt(t, l, 1)))
		settle(t, l, forms.Done, finish(attempt(t, l, 2)))
	})
}
