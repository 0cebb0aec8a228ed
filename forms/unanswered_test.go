package forms_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// TestUnansweredExtension: whichever expiry the row has now is the delivery's own.
func TestUnansweredExtension(t *testing.T) {
	eachDeaf(t, func(t *testing.T, s *deaf, lose losing) {
		table, host := create(t, s, leased()), newClock()
		l := lease(t, s, table, host.use)
		fill(t, s, table, 4)
		deliveries := claim(t, l, 4)
		host.advance(10 * time.Second)
		s.lose = lose
		extend(t, l, forms.Unknown, deliveries...)
		equal(t, "answers lost", number(int64(s.lost)), "1")

		settle(t, l, forms.Done, finish(deliveries[0]), back(deliveries[1]))
		host.advance(10 * time.Second)
		extend(t, l, forms.Done, deliveries[2:]...)
		host.advance(20 * time.Second)
		equal(t, "claim", payloads(claim(t, l, 4)), "2")
		settle(t, l, forms.Done, finish(deliveries[2]), back(deliveries[3]))
		settle(t, l, forms.Lost, finish(deliveries[2]), back(deliveries[3]))
		equal(t, "rows", columns(t, s, table, "payload"), "2\n4")
	})
}

// TestUnansweredExtensionsInARow: each of the expiries may be the one that stands.
func TestUnansweredExtensionsInARow(t *testing.T) {
	eachDeaf(t, func(t *testing.T, s *deaf, lose losing) {
		table, host := create(t, s, leased()), newClock()
		l := lease(t, s, table, host.use)
		fill(t, s, table, 3)
		for _, pattern := range [][]losing{{lose, before}, {before, lose, before}, {lose, after, lose}} {
			d := claimOne(t, l)
			for _, lose := range pattern {
				host.advance(5 * time.Second)
				s.lose = lose
				extend(t, l, forms.Unknown, d)
			}
			settle(t, l, forms.Done, finish(d))
		}
		equal(t, "rows", count(t, s, table), "0")
	})
}

// TestUnansweredExtensionOfALostRow does not bring the row back.
func TestUnansweredExtensionOfALostRow(t *testing.T) {
	eachDeaf(t, func(t *testing.T, s *deaf, lose losing) {
		table, host := create(t, s, leased()), newClock()
		target := create(t, s, &dialect.Table{Name: "dead_letters", ID: table.ID, Roles: table.Roles})
		l := lease(t, s, table, host.use, func(o *forms.Options) { o.DeadTable = target })
		fill(t, s, table, 1)
		first := claimOne(t, l)
		s.lose = lose
		extend(t, l, forms.Unknown, first)
		host.advance(afterLease)
		second := claimOne(t, l)
		late(t, s, l, []*dialect.Table{table, target}, first)
		settle(t, l, forms.Done, finish(second))
	})
}

// TestUnansweredSettlement is reported and never repeated (solid_queue#748).
func TestUnansweredSettlement(t *testing.T) {
	const n = 9 // enough for a claim to be settled as a whole
	for name, change := range map[string]forms.Change{"finish": forms.Finish, "return": forms.Return, "move to group": forms.MoveToGroup} {
		t.Run(name, func(t *testing.T) {
			eachDeaf(t, func(t *testing.T, s *deaf, lose losing) {
				table, host := create(t, s, leased()), newClock()
				l := lease(t, s, table, host.use)
				fill(t, s, table, n)
				deliveries := claim(t, l, n)
				initial := content(t, s, table)
				var list []*forms.Settlement
				for _, d := range deliveries {
					list = append(list, &forms.Settlement{Delivery: d, Change: change})
				}
				s.asked, s.lose = 0, lose
				equal(t, "answers", states(l.Settle(t.Context(), list)), strings.TrimSpace(strings.Repeat("unknown ", n)))
				equal(t, "asked", number(int64(s.asked)), "1")
				if held := content(t, s, table) == initial; held != (lose == before) {
					t.Errorf("the rows are as they were: %v", held)
				}
				// What did not take effect returns with the end of the lease.
				host.advance(afterLease)
				want := ""
				if lose == before || change == forms.Return {
					want = "1 2 3 4 5 6 7 8 9"
				}
				equal(t, "claim", payloads(claim(t, l, n)), want)
			})
		})
	}
}

// TestUnansweredClaim loses no row: they return with the end of the lease.
func TestUnansweredClaim(t *testing.T) {
	eachDeaf(t, func(t *testing.T, s *deaf, lose losing) {
		table, host := create(t, s, leased()), newClock()
		l := lease(t, s, table, host.use)
		fill(t, s, table, 2)
		s.asked, s.lose = 0, lose
		if deliveries, err := l.Claim(t.Context(), 2, false); err == nil {
			t.Errorf("claimed %d rows without an answer", len(deliveries))
		}
		equal(t, "asked", number(int64(s.asked)), "1")
		host.advance(afterLease)
		equal(t, "claim", payloads(claim(t, l, 2)), "1 2")
	})
}

// TestSettleWithoutADatabase says that nothing was sent, so that it can be tried again.
func TestSettleWithoutADatabase(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		s, closed := open(t, db), open(t, db)
		table := create(t, s, leased())
		fill(t, s, table, 2)
		l := lease(t, closed, table)
		deliveries := claim(t, l, 2)
		if err := closed.Close(); err != nil {
			t.Fatal(err)
		}
		equal(t, "settlements", states(l.Settle(t.Context(), settlements(deliveries, finish))), "unsent unsent")
		equal(t, "extensions", states(l.Extend(t.Context(), deliveries)), "unsent unsent")
		if _, err := l.Claim(t.Context(), 1, false); err == nil {
			t.Error("claimed without a database")
		}
	})
}

// TestSessionKilledWhileSettling: the server kills the session in the middle of a settlement. The
// answer says what is known, and no row is lost or settled twice.
func TestSessionKilledWhileSettling(t *testing.T) {
	kill := map[string]struct{ waiting, kill string }{
		"postgres": {
			"SELECT pid::text FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()",
			"SELECT pg_terminate_backend(%)",
		},
		"mariadb": {
			"SELECT CAST(id AS CHAR) FROM information_schema.processlist WHERE db = DATABASE() AND info LIKE 'INSERT INTO `dead_letters`%SELECT%'",
			"KILL %",
		},
	}
	eachWithRowLocks(t, func(t *testing.T, db testdb.Database) {
		s, outside, killer := open(t, db), open(t, db), open(t, db)
		table, host := create(t, s, leased()), newClock()
		target := create(t, s, &dialect.Table{Name: "dead_letters", ID: table.ID, Roles: table.Roles})
		l := lease(t, s, table, host.use, func(o *forms.Options) { o.DeadTable = target })
		fill(t, s, table, 3)
		deliveries := claim(t, l, 3)
		initial := content(t, s, table)
		// The move waits to see whether this row of the target becomes a duplicate.
		tx := begin(t, outside, "INSERT INTO dead_letters (id, payload, "+quoteList(outside, "group")+") VALUES (2, '', '')")

		answers := make(chan []forms.Answer, 1)
		list := settlements(deliveries, func(d *forms.Delivery) *forms.Settlement {
			return &forms.Settlement{Delivery: d, Change: forms.MoveToTable}
		})
		go func() { answers <- l.Settle(context.WithoutCancel(t.Context()), list) }()
		session := eventually(t, func() string { return query(t, killer, kill[db.Name].waiting) })
		query(t, killer, strings.ReplaceAll(kill[db.Name].kill, "%", session))
		got := <-answers
		for _, a := range got {
			if a.State != got[0].State || (a.State != forms.Unknown && a.State != forms.Unsent) || a.Err == nil {
				t.Errorf("%v (%v), want unknown or unsent", a.State, a.Err)
			}
		}
		equal(t, "the rows", content(t, s, table), initial)
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
		if got[0].State == forms.Unsent {
			settle(t, l, forms.Done, list...)
		} else {
			host.advance(afterLease)
			settle(t, l, forms.Done, settlements(claim(t, l, 3), func(d *forms.Delivery) *forms.Settlement {
				return &forms.Settlement{Delivery: d, Change: forms.MoveToTable}
			})...)
		}
		equal(t, "dead letters", columns(t, s, target, "payload"), "1\n2\n3")
		equal(t, "rows", count(t, s, table), "0")
	})
}

// TestKilledSession says nothing of what it did before it went.
func TestKilledSession(t *testing.T) {
	suicide := map[string]string{"postgres": "SELECT pg_terminate_backend(pg_backend_pid())", "mariadb": "KILL CONNECTION_ID()"}
	eachWithRowLocks(t, func(t *testing.T, db testdb.Database) {
		s := open(t, db)
		err := s.Script(t.Context(), suicide[db.Name])
		if err == nil || s.Failure(err) != store.Unanswered {
			t.Errorf("%v is failure %d, want that it was not answered", err, s.Failure(err))
		}
	})
}
