package forms_test

import (
	"strings"
	"testing"
	"time"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// TestFinishDeletesTheRow and no other.
func TestFinishDeletesTheRow(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		table := create(t, s, leased())
		l := lease(t, s, table)
		fill(t, s, table, 4)
		deliveries := claim(t, l, 3)
		settle(t, l, forms.Done, finish(deliveries[1]))
		equal(t, "rows", columns(t, s, table, "payload"), "1\n3\n4")
		settle(t, l, forms.Lost, finish(deliveries[1]))
		equal(t, "rows", columns(t, s, table, "payload"), "1\n3\n4")
	})
}

// TestFinishMarksTheRow where a column plays processed_at; such a row is never claimed again.
func TestFinishMarksTheRow(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		table, host := create(t, s, everyRole()), newClock()
		l := lease(t, s, table, host.use)
		fill(t, s, table, 2)
		settle(t, l, forms.Done, finish(claimOne(t, l)))
		settle(t, l, forms.Done, back(claimOne(t, l)))
		marked := strings.Split(columns(t, s, table, "processed_at", "locked_until"), "\n")
		if got, want := marked[0], host.now().UTC().Format("2006-01-02 15:04:05"); !strings.HasPrefix(got, want) {
			t.Errorf("processed at %s, want %s", got, want)
		}
		if !strings.HasSuffix(marked[0], "|-") {
			t.Errorf("the finished row keeps a lease: %s", marked[0])
		}
		equal(t, "the other row", marked[1], "-|-")
		host.advance(afterLease)
		equal(t, "later", payloads(claim(t, l, 10)), "2")
	})
}

// TestReturn makes a row due at once, or at its time, by retry_after where there is one and by the
// lease column otherwise.
func TestReturn(t *testing.T) {
	tables := map[string]*dialect.Table{
		"with retry_after":    leased(),
		"without retry_after": {Name: "jobs", ID: []string{"id"}, Roles: roles(dialect.LockedUntil, dialect.Payload, dialect.Attempt)},
	}
	for name, description := range tables {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, s store.Store) {
				copied := *description
				table, host := create(t, s, &copied), newClock()
				l := lease(t, s, table, host.use)
				fill(t, s, table, 1)
				settle(t, l, forms.Done, back(claimOne(t, l)))
				d := claimOne(t, l)
				settle(t, l, forms.Done, &forms.Settlement{Delivery: d, Change: forms.Return, Until: host.now().Add(time.Minute)})
				settle(t, l, forms.Lost, finish(d))
				host.advance(time.Minute - time.Millisecond)
				equal(t, "before its time", payloads(claim(t, l, 1)), "")
				host.advance(2 * time.Millisecond)
				d = claimOne(t, l)
				settle(t, l, forms.Done, back(d))
				settle(t, l, forms.Done, finish(claimOne(t, l)))
				equal(t, "rows", count(t, s, table), "0")
			})
		})
	}
}

// TestReturnAtOnceKeepsTheOrder: a retry does not move a row behind those that came due after it.
func TestReturnAtOnceKeepsTheOrder(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		table := create(t, s, leased())
		l := lease(t, s, table)
		fill(t, s, table, 3)
		settle(t, l, forms.Done, back(claimOne(t, l)))
		equal(t, "claim", payloads(claim(t, l, 3)), "1 2 3")
	})
}

// TestReasonIsKept, cut to the column's length, in any text that a handler gives
// (firecrawl#4113: NUL bytes and bad UTF-8 leave the job unsettled).
func TestReasonIsKept(t *testing.T) {
	sized := map[string]string{"postgres": "varchar(20)", "mariadb": "varchar(20)", "sqlite": "VARCHAR(20)"}
	long := strings.Repeat("grüß ", 20)
	reasons := []struct{ name, reason, want string }{
		{"plain", "no route", "no route"},
		{"empty keeps the old one", "", "no route"},
		{"quotes", `it's a "\back\"; --`, `it's a "\back\"; --`},
		{"as long as the column", "12345678901234567890", "12345678901234567890"},
		{"longer than the column", long, string([]rune(long)[:20])},
		{"outside of the BMP", "🦀🦀", "🦀🦀"},
		{"NUL", "a\x00b", "a\uFFFDb"},
		{"invalid UTF-8", "a\xff\xfeb", "a\uFFFDb"},
	}
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		s := open(t, db)
		table := createAs(t, s, leased(), map[string]string{"error": sized[db.Name]})
		l := lease(t, s, table)
		fill(t, s, table, 1)
		for _, r := range reasons {
			t.Run(r.name, func(t *testing.T) {
				settle(t, l, forms.Done, &forms.Settlement{Delivery: claimOne(t, l), Change: forms.Return, Reason: r.reason})
				want := r.want
				if db.Name == "sqlite" && r.reason == long {
					want = long // its types have no length
				}
				equal(t, "error", columns(t, s, table, "error"), want)
			})
		}
		settle(t, l, forms.Done, &forms.Settlement{Delivery: claimOne(t, l), Change: forms.MoveToGroup, Reason: "spent"})
		equal(t, "error of the dead letter", columns(t, s, table, "error"), "spent")
	})
}

// TestReasonThatTheColumnCannotHold does not keep a row from being settled: what its character set
// lacks is replaced.
func TestReasonThatTheColumnCannotHold(t *testing.T) {
	check := func(t *testing.T, s store.Store, types map[string]string) {
		table := createAs(t, s, leased(), types)
		l := lease(t, s, table)
		fill(t, s, table, 3)
		deliveries := claim(t, l, 3)
		settle(t, l, forms.Done, &forms.Settlement{Delivery: deliveries[0], Change: forms.Return, Reason: "a 🦀 b"}, finish(deliveries[1]),
			&forms.Settlement{Delivery: deliveries[2], Change: forms.MoveToGroup, Reason: "ü"})
		equal(t, "errors", columns(t, s, table, "id", "error"), "1|a ? b\n3|ü")
	}
	t.Run("a column of MariaDB", func(t *testing.T) {
		s := open(t, testdb.Database{URL: testdb.MariaDB(t)})
		check(t, s, map[string]string{"error": "varchar(20) CHARACTER SET latin1"})
	})
	t.Run("a database of Postgres", func(t *testing.T) {
		url := testdb.Postgres(t)
		s := open(t, testdb.Database{URL: url})
		name := query(t, s, "SELECT current_database()")
		script(t, s, "CREATE DATABASE "+name+"_latin1 ENCODING LATIN1 TEMPLATE template0")
		t.Cleanup(func() { query(t, s, "DROP DATABASE "+name+"_latin1") })
		check(t, open(t, testdb.Database{URL: strings.Replace(url, name, name+"_latin1", 1)}), nil)
	})
}

// TestReasonOfAMegabyte fits into every column.
func TestReasonOfAMegabyte(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		table := create(t, s, leased())
		l := lease(t, s, table)
		fill(t, s, table, 1)
		settle(t, l, forms.Done, &forms.Settlement{Delivery: claimOne(t, l), Change: forms.Return, Reason: strings.Repeat("é", 1<<19)})
		if got := columns(t, s, table, "error"); !strings.HasPrefix(got, "ééé") || len(got) < 30_000 {
			t.Errorf("error of %d bytes", len(got))
		}
	})
}

// TestSettleMixesChanges in one call, and answers each in its place.
func TestSettleMixesChanges(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		table := create(t, s, leased())
		l := lease(t, s, table)
		fill(t, s, table, 9)
		var list []*forms.Settlement
		for i, d := range claim(t, l, 9) {
			list = append(list, &forms.Settlement{Delivery: d, Change: []forms.Change{forms.Return, forms.MoveToGroup, forms.Finish}[i%3], Reason: string(d.Payload)})
		}
		settle(t, l, forms.Done, list[2])
		equal(t, "answers", states(l.Settle(t.Context(), list)), "done done lost done done done done done done")
		equal(t, "rows", columns(t, s, table, "payload", "group", "error"),
			"1|g|1\n2|dead|2\n4|g|4\n5|dead|5\n7|g|7\n8|dead|8")
		if answers := l.Settle(t.Context(), nil); len(answers) != 0 {
			t.Errorf("no settlements: %d answers", len(answers))
		}
	})
}

// TestSettleAfterAThirdPartyChangedTheRow: columns without a part in the lease are anybody's.
func TestSettleAfterAThirdPartyChangedTheRow(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		table := create(t, s, leased())
		l := lease(t, s, table)
		fill(t, s, table, 4)
		deliveries := claim(t, l, 4)
		script(t, s, "UPDATE jobs SET payload = 'changed', priority = 7")
		extend(t, l, forms.Done, deliveries...)
		script(t, s, "UPDATE jobs SET headers = '{}'")
		settle(t, l, forms.Done, finish(deliveries[0]), back(deliveries[1]),
			&forms.Settlement{Delivery: deliveries[2], Change: forms.MoveToGroup})
		script(t, s, "DELETE FROM jobs WHERE id = 4")
		settle(t, l, forms.Lost, back(deliveries[3]))
		equal(t, "rows", columns(t, s, table, "id", "payload", "group"), "2|changed|g\n3|changed|dead")
	})
}

// TestSettleWithoutATarget fails that settlement alone.
func TestSettleWithoutATarget(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		table := create(t, s, leased())
		l := lease(t, s, table, func(o *forms.Options) { o.DeadGroup = "" })
		fill(t, s, table, 3)
		d := claim(t, l, 3)
		equal(t, "answers", states(l.Settle(t.Context(), []*forms.Settlement{
			{Delivery: d[0], Change: forms.MoveToGroup}, finish(d[1]), {Delivery: d[2], Change: forms.MoveToTable}})), "failed done failed")
		settle(t, l, forms.Done, back(d[0]), back(d[2]))
	})
}
