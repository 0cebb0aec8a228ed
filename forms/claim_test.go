package forms_test

import (
	"testing"
	"time"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// nullable are the types that let the columns of the claim order be NULL.
var nullable = map[string]map[string]string{
	"postgres": {"priority": "integer", "retry_after": "timestamptz", "group": "text", "attempt": "smallint"},
	"mariadb":  {"priority": "int", "retry_after": "datetime(6)", "group": "varchar(20)", "attempt": "smallint"},
	"sqlite":   {"priority": "INTEGER", "retry_after": "TEXT", "group": "TEXT", "attempt": "INTEGER"},
}

// insert writes rows as SQL values, in the columns that are named.
func insert(t *testing.T, s store.Store, table *dialect.Table, columns string, values string) {
	t.Helper()
	script(t, s, "INSERT INTO "+quoted(s, table)+" ("+quoteList(s, columns)+") VALUES "+values)
}

func quoteList(s store.Store, columns string) string {
	list, word := "", ""
	for _, c := range columns + " " {
		if c != ' ' {
			word += string(c)
			continue
		}
		if list != "" {
			list += ", "
		}
		list += s.Dialect().Quote(word)
		word = ""
	}
	return list
}

// TestClaimOrder: priority first and NULL last, then retry_after with NULL first and due, then id.
func TestClaimOrder(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		s := open(t, db)
		table := createAs(t, s, leased(), nullable[db.Name])
		insert(t, s, table, "payload group priority retry_after", `
			('9', 'g', NULL, NULL),
			('8', 'g', 5, '2020-01-01 00:00:00'),
			('1', 'g', -3, '2020-01-01 00:00:00.5'),
			('7', 'g', 2, '2020-03-01 00:00:00'),
			('2', 'g', 2, NULL),
			('3', 'g', 2, NULL),
			('5', 'g', 2, '2020-01-01 00:00:00.25'),
			('6', 'g', 2, '2020-01-01 00:00:00.3'),
			('4', 'g', 2, '2020-01-01 00:00:00')`)
		l := lease(t, s, table)
		equal(t, "first claim", payloads(claim(t, l, 3)), "1 2 3")
		equal(t, "second claim", payloads(claim(t, l, 100)), "4 5 6 7 8 9")
	})
}

// TestClaimOrderOfNumericKeys: keys that are numbers sort as numbers.
func TestClaimOrderOfNumericKeys(t *testing.T) {
	types := map[string]string{"postgres": "numeric PRIMARY KEY", "mariadb": "decimal(30,10) PRIMARY KEY", "sqlite": "NUMERIC PRIMARY KEY"}
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		s := open(t, db)
		table := &dialect.Table{Name: "jobs", ID: []string{"id"}, Roles: roles(dialect.LockedUntil, dialect.Payload)}
		createAs(t, s, table, map[string]string{"id": types[db.Name]})
		insert(t, s, table, "id payload", "(10, '4'), (9.5, '3'), (-2, '1'), (0.25, '2'), (1000, '5')")
		equal(t, "claim", payloads(claim(t, lease(t, s, table), 10)), "1 2 3 4 5")
	})
}

// TestClaimPassesOver every row that is not claimable, and takes no more than the limit.
func TestClaimPassesOver(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		s := open(t, db)
		table := create(t, s, everyRole())
		insert(t, s, table, "payload group retry_after locked_until processed_at", `
			('due', 'g', '2020-01-01 00:00:00', NULL, NULL),
			('late', 'g', '2199-01-01 00:00:00', NULL, NULL),
			('other group', 'h', '2020-01-01 00:00:00', NULL, NULL),
			('held', 'g', '2020-01-01 00:00:00', '2199-01-01 00:00:00', NULL),
			('lease ended', 'g', '2020-01-01 00:00:00', '2020-01-01 00:00:00', NULL),
			('processed', 'g', '2020-01-01 00:00:00', NULL, '2020-01-01 00:00:00'),
			('due too', 'g', '2020-01-01 00:00:00', NULL, NULL)`)
		l := lease(t, s, table)
		equal(t, "limited", payloads(claim(t, l, 1)), "due")
		equal(t, "the rest", payloads(claim(t, l, 10)), "lease ended due too")
		equal(t, "nothing", payloads(claim(t, l, 10)), "")
	})
}

// TestClaimTakesARowWhenItsTimeHasCome, by the host's clock and neither earlier nor later.
func TestClaimTakesARowWhenItsTimeHasCome(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		table, host := create(t, s, leased()), newClock()
		l := lease(t, s, table, host.use)
		if err := forms.NewWriter(s, table, host.now).Write(t.Context(),
			[]forms.Message{{Payload: []byte("p"), Group: "g", Delay: 10 * time.Second}}); err != nil {
			t.Fatal(err)
		}
		host.advance(10*time.Second - time.Millisecond)
		equal(t, "before", payloads(claim(t, l, 1)), "")
		host.advance(2 * time.Millisecond)
		equal(t, "after", payloads(claim(t, l, 1)), "p")
	})
}

// TestClaimAhead leaves out rows on their last attempt, whose crash would spend it before it began.
func TestClaimAhead(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		s := open(t, db)
		table := createAs(t, s, leased(), nullable[db.Name])
		insert(t, s, table, "payload group attempt", "('1', 'g', 1), ('2', 'g', 2), ('3', 'g', 3), ('4', 'g', 4), ('5', 'g', NULL)")
		l := lease(t, s, table, func(o *forms.Options) { o.MaxAttempts = 3 })
		ahead, err := l.Claim(t.Context(), 10, true)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "ahead", payloads(ahead), "1 2 5")
		equal(t, "for a free thread", payloads(claim(t, l, 10)), "3 4")

		uncapped := lease(t, s, table)
		fill(t, s, table, 1)
		if ahead, err := uncapped.Claim(t.Context(), 10, true); err != nil || len(ahead) != 1 {
			t.Errorf("without a cap: %d rows (%v), want 1", len(ahead), err)
		}
	})
}

// TestClaimOfAllGroups reads every group, the NULL one too, but for those that are left out.
func TestClaimOfAllGroups(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		s := open(t, db)
		table := createAs(t, s, leased(), nullable[db.Name])
		insert(t, s, table, "payload group",
			"('1', 'a'), ('2', 'dead'), ('3', NULL), ('4', 'it''s'), ('5', 'late'), ('6', 'b'), ('7', '*')")
		one := lease(t, s, table, func(o *forms.Options) { o.Group = "*" })
		equal(t, "a group of that name", payloads(claim(t, one, 10)), "7")
		some := lease(t, s, table, func(o *forms.Options) { o.AllGroups, o.Except = true, []string{"dead", "it's"} })
		deliveries := claim(t, some, 10)
		equal(t, "all but two", payloads(deliveries), "1 3 5 6")
		groups := ""
		for _, d := range deliveries {
			groups += "[" + d.Group + "]"
		}
		equal(t, "groups", groups, "[a][][late][b]")
		all := lease(t, s, table, func(o *forms.Options) { o.AllGroups = true })
		equal(t, "all", payloads(claim(t, all, 10)), "2 4")
	})
}

// TestClaimAnswersTheRow: what a delivery says of its row.
func TestClaimAnswersTheRow(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		table, host := create(t, s, everyRole()), newClock()
		l := lease(t, s, table, host.use)
		key, priority := "customer 7", int64(3)
		write(t, s, table,
			forms.Message{Payload: []byte("one"), Group: "g", Headers: []byte(`{"a": "b"}`), PartitionKey: &key, Priority: &priority},
			forms.Message{Payload: []byte("two"), Group: "g", Priority: &priority})
		deliveries := claim(t, l, 2)
		if len(deliveries) != 2 {
			t.Fatalf("claimed %d rows", len(deliveries))
		}
		one, two := deliveries[0], deliveries[1]
		if one.Group != "g" || one.PartitionKey != key || !one.HasPartitionKey || string(one.Headers) != `{"a": "b"}` ||
			string(one.Payload) != "one" || one.Attempt != 1 || one.ID.String() != "1" {
			t.Errorf("first: %+v", one)
		}
		if two.HasPartitionKey || two.Headers != nil || string(two.Payload) != "two" {
			t.Errorf("second: %+v", two)
		}
		if want := host.now().Add(30 * time.Second); !one.Expires().Equal(want) {
			t.Errorf("expires at %v, want %v", one.Expires(), want)
		}
	})
}

// TestWaiting counts held, due and delayed rows of the subscription.
func TestWaiting(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		table := create(t, s, everyRole())
		l := lease(t, s, table)
		waiting := func() forms.Waiting {
			t.Helper()
			w, err := l.Waiting(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return w
		}
		if w := waiting(); w != (forms.Waiting{}) {
			t.Errorf("an empty table: %+v", w)
		}
		fill(t, s, table, 6)
		claimed := claim(t, l, 3)
		settle(t, l, forms.Done, finish(claimed[0]))
		insert(t, s, table, "payload group retry_after", "('a', 'g', '2199-01-01 00:00:00'), ('b', 'h', '2020-01-01 00:00:00')")
		if w, want := waiting(), (forms.Waiting{Held: 2, Due: 3, Delayed: 1}); w != want {
			t.Errorf("%+v, want %+v", w, want)
		}
	})
}
