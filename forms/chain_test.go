package forms_test

import (
	"strings"
	"testing"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// chained runs a test on the databases that commit a row lock and claim the next in one go.
func chained(t *testing.T, run func(t *testing.T, db testdb.Database, s store.Store)) {
	t.Helper()
	eachWithRowLocks(t, func(t *testing.T, db testdb.Database) { run(t, db, open(t, db)) })
}

func chain(t *testing.T, r *forms.RowLock, limit int, settlements ...*forms.Settlement) ([]forms.Answer, []*forms.Delivery, error) {
	t.Helper()
	if !r.Chains(settlements) {
		t.Fatal("the claim does not chain")
	}
	return r.SettleAndClaim(t.Context(), settlements, limit)
}

// A claim after the other goes through the same connection, settles what is settled and holds what it gives.
func TestChain(t *testing.T) {
	chained(t, func(t *testing.T, _ testdb.Database, s store.Store) {
		table := create(t, s, rowLocked())
		r := rowLock(t, s, table)
		fill(t, s, table, 5)
		rows := claim(t, r, 1)
		for _, want := range []string{"2", "3", "4"} {
			answers, next, err := chain(t, r, 1, settlements(rows, finish)...)
			if err != nil {
				t.Fatal(err)
			}
			equal(t, "settled", states(answers), "done")
			equal(t, "the next", payloads(next), want)
			equal(t, "what another claim finds", payloads(release(t, r, claim(t, r, 1))), integer(int(want[0]-'0')+1))
			rows = next
		}
		answers, next, err := chain(t, r, 5, &forms.Settlement{Delivery: rows[0], Change: forms.MoveToGroup})
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "moved", states(answers), "done")
		equal(t, "the last", payloads(next), "5")
		answers, next, err = chain(t, r, 1, settlements(next, finish)...)
		if err != nil || len(next) != 0 {
			t.Fatal(next, err)
		}
		equal(t, "settled", states(answers), "done")
		equal(t, "left", count(t, s, table), "1")
		equal(t, "settled twice", states(r.Settle(t.Context(), settlements(rows, finish))), "lost")
	})
}

// release gives rows back as they are.
func release(t *testing.T, r *forms.RowLock, rows []*forms.Delivery) []*forms.Delivery {
	t.Helper()
	settle(t, r, forms.Done, settlements(rows, unstarted)...)
	return rows
}

// What goes back may have to be left out of the next claim, so that the two are not made together; nor is a part of a claim.
func TestWhatDoesNotChain(t *testing.T) {
	chained(t, func(t *testing.T, _ testdb.Database, s store.Store) {
		table := create(t, s, rowLocked())
		r := rowLock(t, s, table)
		fill(t, s, table, 2)
		rows := claim(t, r, 2)
		for name, list := range map[string][]*forms.Settlement{
			"one goes back": {finish(rows[0]), back(rows[1])},
			"a part":        {finish(rows[0])},
		} {
			if r.Chains(list) {
				t.Errorf("%s: it chains", name)
			}
		}
		settle(t, r, forms.Done, settlements(rows, finish)...)
	})
}

// A settlement that the database refuses is rolled back, and nothing is claimed in its place.
func TestRefusedSettlementDoesNotChain(t *testing.T) {
	chained(t, func(t *testing.T, _ testdb.Database, s store.Store) {
		table := create(t, s, rowLocked())
		script(t, s, "CREATE TABLE children (parent bigint, FOREIGN KEY (parent) REFERENCES jobs (id))")
		r := rowLock(t, s, table)
		fill(t, s, table, 2)
		script(t, s, "INSERT INTO children SELECT id FROM jobs WHERE id = 1")
		answers, next, err := chain(t, r, 1, settlements(claim(t, r, 1), finish)...)
		if err != nil || len(next) != 0 {
			t.Fatal(next, err)
		}
		equal(t, "settled", states(answers), "rolled back")
		equal(t, "the next", payloads(release(t, r, claim(t, r, 1))), "2") // the refused one is left out for a while
	})
}

// A claim that fails behind a commit leaves the commit as it is, and no row locked.
func TestClaimThatFailsBehindACommit(t *testing.T) {
	const plain = "CREATE OR REPLACE VIEW jobs AS SELECT id, "
	views := map[string]struct{ numbers, failing, good, failure string }{
		"postgres": {
			"CREATE TABLE numbers (id bigint PRIMARY KEY)",
			plain + "convert_to((10 / (id - 2))::text, 'UTF8') AS payload FROM numbers",
			plain + "convert_to(id::text, 'UTF8') AS payload FROM numbers", "division by zero",
		},
		"mariadb": {
			"CREATE TABLE numbers (id bigint PRIMARY KEY)",
			plain + "CAST(9223372036854775806 + id AS CHAR) AS payload FROM numbers",
			plain + "CAST(id AS CHAR) AS payload FROM numbers", "out of range",
		},
	}
	chained(t, func(t *testing.T, db testdb.Database, s store.Store) {
		v := views[db.Name]
		for _, sql := range []string{v.numbers, v.failing, "INSERT INTO numbers VALUES (1), (2)"} {
			script(t, s, sql)
		}
		table := &dialect.Table{Name: "jobs", ID: []string{"id"}, Roles: roles(dialect.Payload)}
		describe(t, s, table)
		r := rowLock(t, s, table)
		answers, next, err := chain(t, r, 1, settlements(claim(t, r, 1), finish)...)
		if err == nil || !strings.Contains(err.Error(), v.failure) || len(next) != 0 {
			t.Fatal(next, err)
		}
		equal(t, "settled", states(answers), "done")
		script(t, s, v.good)
		equal(t, "the next", payloads(release(t, r, claim(t, r, 1))), "2")
	})
}

// A chain's next transaction has the isolation level of the one before.
func TestChainKeepsTheLevel(t *testing.T) {
	chained(t, func(t *testing.T, db testdb.Database, s store.Store) {
		level := map[string]string{
			"postgres": "SELECT current_setting('transaction_isolation')",
			"mariadb":  "SELECT LOWER(isolation_level) FROM performance_schema.events_transactions_current JOIN performance_schema.threads USING (thread_id) WHERE processlist_id = CONNECTION_ID()",
		}[db.Name]
		session, err := s.Hold(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer session.Release()
		o, got := store.TxOptions{Level: dialect.Serializable}, ""
		ask := store.Step{Statement: &dialect.Statement{SQL: level}, Row: func(v [][]byte) error {
			got = string(v[0])
			return nil
		}}
		work, err := session.BeginWork(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		defer work.Rollback()
		committed, err := work.(store.Chainer).Chain(t.Context(), o, nil, ask)
		if err != nil || !committed {
			t.Fatal(committed, err)
		}
		equal(t, "level", got, "serializable")
	})
}

// The rows of a claim that are finished are so by one statement, whatever becomes of the others.
func TestClaimOfManyEndsAsItIsTold(t *testing.T) {
	eachRowLock(t, func(t *testing.T, s store.Store) {
		table := create(t, s, rowLocked())
		r := rowLock(t, s, table)
		fill(t, s, table, 100)
		rows := claim(t, r, 70) // more than what a claim has a statement of its own for
		var list []*forms.Settlement
		for i, d := range rows {
			switch i % 4 {
			case 0:
				list = append(list, &forms.Settlement{Delivery: d, Change: forms.MoveToGroup})
			case 1:
				list = append(list, unstarted(d))
			default:
				list = append(list, finish(d))
			}
		}
		settle(t, r, forms.Done, list...)
		equal(t, "left", count(t, s, table), "66") // 18 dead, 18 that went back, and 30 that were not claimed
		first := claim(t, r, 2)
		equal(t, "what is claimed next", payloads(first), "2 6")
		giveBack(t, r, first)
	})
}
