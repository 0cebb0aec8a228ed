package forms_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// pooled is a Postgres database through a private pooler.
func pooled(t *testing.T, mode string, maxPrepared int) testdb.Database {
	t.Helper()
	return testdb.Database{Name: "postgres", URL: testdb.StartPgBouncer(t, testdb.Postgres(t), mode, maxPrepared)}
}

// eachPrepared runs a test behind a pooler in transaction mode that keeps no prepared statements, and behind
// one that keeps them, which not every version does.
func eachPrepared(t *testing.T, run func(t *testing.T, db testdb.Database)) {
	t.Helper()
	for _, n := range []int{0, 200} {
		t.Run(fmt.Sprintf("max_prepared_statements=%d", n), func(t *testing.T) {
			run(t, pooled(t, "transaction", n))
		})
	}
}

// roleSets are tables in the forms that a pooler in transaction mode serves.
func roleSets() map[string]*dialect.Table {
	return map[string]*dialect.Table{
		"lease":              {ID: []string{"id"}, Roles: roles(dialect.LockedUntil, dialect.Payload)},
		"lease grouped":      leased(),
		"lease every role":   everyRole(),
		"lease fifo":         {ID: []string{"id"}, FIFO: true, Roles: leased().Roles},
		"row lock":           {ID: []string{"id"}, Roles: roles(dialect.Payload)},
		"row lock counted":   bare(),
		"row lock grouped":   rowLocked(),
		"row lock all roles": without(everyRole(), dialect.LockedUntil),
		"row lock fifo":      {ID: []string{"id"}, FIFO: true, Roles: rowLocked().Roles},
	}
}

// TestPoolerTransactionModeServesEveryRoleSet of the lease and the row lock form: everything that a form
// does works where each statement may meet another session (riverqueue/river#1153, graphile/worker#119).
func TestPoolerTransactionModeServesEveryRoleSet(t *testing.T) {
	eachPrepared(t, func(t *testing.T, db testdb.Database) {
		stores := []store.Store{open(t, db), open(t, db)}
		for name, table := range roleSets() {
			t.Run(name, func(t *testing.T) {
				table.Name = "jobs " + name
				create(t, stores[0], table)
				target := create(t, stores[0], &dialect.Table{Name: "dead " + name, ID: table.ID, Roles: table.Roles})
				fill(t, stores[0], table, 12)
				// Two processes take turns, so that each finds the sessions as the other left them.
				list := make([]forms.Form, len(stores))
				for i, s := range stores {
					list[i] = anyForm(t, s, table, deadTable(target), capped(table), fifo(table))
					for _, n := range list[i].Statements() {
						if err := s.Prepare(t.Context(), &n.Statement); err != nil {
							t.Fatalf("%s: %v", n.Name, err)
						}
					}
				}
				for round := range 4 {
					for _, form := range list {
						turn(t, form, table, round)
					}
				}
			})
		}
	})
}

func capped(table *dialect.Table) func(*forms.Options) {
	return func(o *forms.Options) { o.MaxAttempts = capOf(table) }
}

func fifo(table *dialect.Table) func(*forms.Options) {
	return func(o *forms.Options) { o.FIFO = table.FIFO }
}

// turn claims rows, holds on to them and ends them in different ways, and counts what waits.
func turn(t *testing.T, form forms.Form, table *dialect.Table, round int) {
	t.Helper()
	deliveries := claim(t, form, 3)
	want := 3
	if table.FIFO {
		want = 1
	}
	if round == 0 && len(deliveries) != want {
		t.Errorf("claimed %d rows, want %d", len(deliveries), want)
	}
	extend(t, form, forms.Done, deliveries...)
	ends := []func(*forms.Delivery) *forms.Settlement{finish, toTable, back}
	if table.Has(dialect.Group) {
		ends = append(ends, toGroup)
	}
	var list []*forms.Settlement
	for i, d := range deliveries {
		list = append(list, ends[(i+round)%len(ends)](d))
	}
	settle(t, form, forms.Done, list...)
	if _, err := form.Waiting(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestPoolerTransactionModeDeliversOnce: eight claimers of two processes share few sessions, and each row is
// delivered once.
func TestPoolerTransactionModeDeliversOnce(t *testing.T) {
	const rows = 1000
	eachPrepared(t, func(t *testing.T, db testdb.Database) {
		for name, table := range map[string]*dialect.Table{"lease": leased(), "row lock": rowLocked()} {
			t.Run(name, func(t *testing.T) {
				first, second := wide(t, db), wide(t, db)
				table.Name = "jobs " + name
				create(t, first, table)
				fill(t, first, table, rows)
				c := &tally{delivered: map[string]int{}}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				var running sync.WaitGroup
				for i := range 8 {
					form := anyForm(t, []store.Store{first, second}[i%2], table)
					running.Go(func() {
						if err := drainForm(ctx, form, 3+i, c, rows); err != nil {
							t.Error(err)
						}
					})
				}
				running.Wait()
				for id, n := range c.delivered {
					if n != 1 {
						t.Errorf("row %s was delivered %d times", id, n)
					}
				}
				equal(t, "rows left", count(t, first, table), "0")
			})
		}
	})
}

// drainForm claims and finishes until the tally is full.
func drainForm(ctx context.Context, form forms.Form, limit int, c *tally, full int) error {
	for c.total() < full && ctx.Err() == nil {
		deliveries, err := form.Claim(ctx, limit, false)
		if err != nil {
			return err
		}
		c.add(deliveries)
		for len(deliveries) > 0 {
			var again []*forms.Delivery
			for i, a := range form.Settle(ctx, settlements(deliveries, finish)) {
				switch a.State {
				case forms.Done:
					c.done()
				case forms.Busy, forms.Unsent:
					again = append(again, deliveries[i])
				default:
					return fmt.Errorf("settle row %s: %v (%w)", deliveries[i].ID, a.State, a.Err)
				}
			}
			deliveries = again
		}
	}
	return ctx.Err()
}

// TestPoolerSessionModeServesEveryForm: a client keeps its session, so that its locks protect.
func TestPoolerSessionModeServesEveryForm(t *testing.T) {
	db := pooled(t, "session", 0)
	s := open(t, db)
	for _, table := range []*dialect.Table{leased(), rowLocked()} {
		create(t, s, table)
		fill(t, s, table, 12)
		form := anyForm(t, s, table)
		for range 4 {
			settle(t, form, forms.Done, settlements(claim(t, form, 3), finish)...)
		}
		equal(t, "rows left", count(t, s, table), "0")
		script(t, s, "DROP TABLE jobs")
	}

	table := keyed(t, s, channels())
	put(t, s, table, "a", 2)
	put(t, s, table, "b", 1)
	one, two := advisory(t, s, table), advisory(t, second(t, db, 4), table)
	held := takes(t, one, 1, "a1")
	other := takes(t, two, 3, "b1") // a's other row waits
	ends(t, one, forms.Done, finish(held[0]))
	ends(t, two, forms.Done, finish(other[0]))
	ends(t, two, forms.Done, finish(takes(t, two, 3, "a2")[0]))
}

// TestPoolerIsFound in transaction mode, whatever it keeps of prepared statements, and nowhere else. What it
// does to locks there is why: a key that one client holds is another's to take (netbox-community/netbox#23009).
func TestPoolerIsFound(t *testing.T) {
	direct := testdb.Postgres(t)
	for name, c := range map[string]struct {
		url    func(t *testing.T) string
		shares bool
	}{
		"direct":                    {func(*testing.T) string { return direct }, false},
		"session":                   {func(t *testing.T) string { return testdb.StartPgBouncer(t, direct, "session", 0) }, false},
		"transaction":               {func(t *testing.T) string { return testdb.StartPgBouncer(t, direct, "transaction", 0) }, true},
		"transaction, 200 prepared": {func(t *testing.T) string { return testdb.StartPgBouncer(t, direct, "transaction", 200) }, true},
		"transaction, the mode given": {func(t *testing.T) string {
			return testdb.StartPgBouncer(t, direct, "transaction", 0) + "&default_query_exec_mode=simple_protocol"
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			url := c.url(t)
			for range 5 {
				s := open(t, testdb.Database{Name: "postgres", URL: url})
				shares, err := s.(store.Pooled).SharesSessions(t.Context())
				if err != nil || shares != c.shares {
					t.Errorf("shares its sessions: %t (%v), want %t", shares, err, c.shares)
				}
			}
		})
	}
}

// TestAlteredTableUnderLoad: a statement that was prepared before its answer changed its type fails with
// "cached plan must not change result type" (pgbouncer/pgbouncer#1038), and is prepared anew: no claim and no
// settlement fails for it, and no row is delivered twice.
func TestAlteredTableUnderLoad(t *testing.T) {
	direct := func(t *testing.T) testdb.Database {
		return testdb.Database{Name: "postgres", URL: testdb.Postgres(t)}
	}
	for name, open := range map[string]func(*testing.T) testdb.Database{
		"direct":          direct,
		"pooled session":  func(t *testing.T) testdb.Database { return pooled(t, "session", 0) },
		"pooled":          func(t *testing.T) testdb.Database { return pooled(t, "transaction", 0) },
		"pooled prepared": func(t *testing.T) testdb.Database { return pooled(t, "transaction", 200) },
	} {
		t.Run(name, func(t *testing.T) {
			db := open(t)
			tables := map[string]*dialect.Table{"lease": leased(), "row lock": rowLocked()}
			if name == "direct" || name == "pooled session" {
				tables["advisory"] = channels()
			}
			for form, table := range tables {
				t.Run(form, func(t *testing.T) { alterUnderLoad(t, db, form, table) })
			}
		})
	}
}

func alterUnderLoad(t *testing.T, db testdb.Database, name string, table *dialect.Table) {
	const rows = 1500
	s := wide(t, db)
	table.Name = "jobs " + name
	body := strings.ReplaceAll("body "+name, " ", "_")
	create(t, s, table)
	script(t, s, "CREATE DOMAIN "+body+" AS bytea")
	if table.Key == nil {
		fill(t, s, table, rows)
	} else {
		script(t, s, "INSERT INTO "+quoted(s, table)+" (\"group\", channel, payload) SELECT 'g', i % 200, 'p' FROM generate_series(1, "+strconv.Itoa(rows)+") AS i")
	}
	c := &tally{delivered: map[string]int{}}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var running sync.WaitGroup
	for range 4 {
		var form forms.Form
		if table.Key == nil {
			form = anyForm(t, s, table)
		} else {
			form = advisory(t, s, table)
		}
		running.Go(func() {
			if err := drainForm(ctx, form, 5, c, rows); err != nil {
				t.Error(err)
			}
		})
	}
	for i := 0; c.total() < rows && !t.Failed(); i++ {
		typeName := [...]string{body, "bytea"}[i%2]
		next := min(rows, c.total()+rows/10)
		met(t, "some rows more are done", func() bool { return c.total() >= next || t.Failed() })
		script(t, s, "ALTER TABLE "+quoted(s, table)+" ALTER COLUMN payload TYPE "+typeName+", ADD COLUMN more"+integer(i)+" integer")
	}
	running.Wait()
	for id, n := range c.delivered {
		if n != 1 {
			t.Errorf("row %s was delivered %d times", id, n)
		}
	}
	equal(t, "rows left", count(t, s, table), "0")
}
