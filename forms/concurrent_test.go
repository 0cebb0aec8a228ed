package forms_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/databases"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// wide opens a store with a connection for each of eight claimers and their settlements.
func wide(t *testing.T, db testdb.Database) store.Store {
	t.Helper()
	s, err := databases.Open(t.Context(), databases.Builtin(), db.URL, store.Options{MaxConnections: 10})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// tally counts the deliveries of each row, of several claimers.
type tally struct {
	mutex     sync.Mutex
	delivered map[string]int
	settled   int
}

func (c *tally) add(deliveries []*forms.Delivery) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for _, d := range deliveries {
		c.delivered[d.ID.String()]++
	}
}

func (c *tally) done() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.settled++
}

func (c *tally) total() int {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.settled
}

// work claims and settles until the tally is full, one settlement at a time as a subscription does.
// Rows that are busy or unsent are settled again.
func work(ctx context.Context, l *forms.Lease, limit int, c *tally, full int) error {
	for c.total() < full {
		deliveries, err := l.Claim(ctx, limit, false)
		if err != nil {
			return err
		}
		c.add(deliveries)
		for len(deliveries) > 0 {
			var again []*forms.Delivery
			for i, a := range l.Settle(ctx, settlements(deliveries, finish)) {
				switch a.State {
				case forms.Done:
					c.done()
				case forms.Busy:
					again = append(again, deliveries[i])
				default:
					return fmt.Errorf("settle row %s: %v (%w)", deliveries[i].ID, a.State, a.Err)
				}
			}
			deliveries = again
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// TestConcurrentClaimers: two holders with four claimers each deliver every row exactly once.
func TestConcurrentClaimers(t *testing.T) {
	const rows = 2000
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		first, second := wide(t, db), wide(t, db)
		table := create(t, first, leased())
		fill(t, first, table, rows)
		c := &tally{delivered: map[string]int{}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var running sync.WaitGroup
		for i := range 8 {
			l := lease(t, []store.Store{first, second}[i%2], table)
			running.Go(func() {
				if err := work(ctx, l, 17+i, c, rows); err != nil {
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
		equal(t, "rows delivered", number(int64(len(c.delivered))), number(rows))
		equal(t, "rows left", count(t, first, table), "0")
	})
}

// TestConcurrentInserts: bulk inserts beside eight claimers surface no deadlock and no lock wait, and
// lose no row (solid_queue#531, solid_queue#108).
func TestConcurrentInserts(t *testing.T) {
	const writers, batches, size = 3, 12, 40
	const rows = writers * batches * size
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		s := wide(t, db)
		table := create(t, s, leased())
		// Bulk inserts come from programs that know nothing of us, and their sessions are as they come.
		strangers := wide(t, db)
		c := &tally{delivered: map[string]int{}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var running sync.WaitGroup
		for range writers {
			running.Go(func() {
				for range batches {
					if err := stranger(ctx, strangers, table, size); err != nil {
						t.Error(err)
						cancel()
						return
					}
				}
			})
		}
		for range 8 {
			l := lease(t, s, table)
			running.Go(func() {
				if err := work(ctx, l, 23, c, rows); err != nil {
					t.Error(err)
				}
			})
		}
		running.Wait()
		equal(t, "rows delivered", number(int64(len(c.delivered))), number(rows))
		equal(t, "rows left", count(t, s, table), "0")
	})
}

// stranger inserts rows in one transaction, at REPEATABLE READ where that is a session's setting: from
// its session's second transaction on. A deadlock that strikes the writer is the writer's to repeat.
func stranger(ctx context.Context, s store.Store, table *dialect.Table, n int) error {
	for {
		err := func() error {
			tx, err := s.Begin(ctx)
			if err != nil {
				return err
			}
			defer tx.Rollback()
			if s.Dialect().Name() == "MySQL" {
				st := dialect.Statement{SQL: "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ"}
				if _, err := tx.Exec(ctx, &st, 0, nil); err != nil {
					return err
				}
			}
			group := s.Dialect().Quote("group")
			for i := range n {
				st := dialect.Statement{SQL: fmt.Sprintf("INSERT INTO %s (%s, priority, payload) VALUES ('g', %d, 'p')",
					quoted(s, table), group, i%3)}
				if _, err := tx.Exec(ctx, &st, 0, nil); err != nil {
					return err
				}
			}
			return tx.Commit(ctx)
		}()
		if err == nil || s.Failure(err) != store.Transient {
			return err
		}
	}
}

// TestExtendBesideClaims and settlements of the same rows: an extension and the settlements of one
// delivery take turns, as a subscription has them, while others claim.
func TestExtendBesideClaims(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		s := wide(t, db)
		table := create(t, s, leased())
		fill(t, s, table, 400)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var running sync.WaitGroup
		var settled atomic.Int64
		for range 4 {
			l := lease(t, s, table)
			running.Go(func() {
				for {
					deliveries, err := l.Claim(ctx, 20, false)
					if err != nil {
						t.Error(err)
						return
					}
					if len(deliveries) == 0 {
						if settled.Load() == 400 || ctx.Err() != nil {
							return
						}
						continue
					}
					for range 3 {
						for i, a := range l.Extend(ctx, deliveries) {
							if a.State != forms.Done && a.State != forms.Busy {
								t.Errorf("extend row %s: %v (%v)", deliveries[i].ID, a.State, a.Err)
							}
						}
					}
					for len(deliveries) > 0 {
						var again []*forms.Delivery
						for i, a := range l.Settle(ctx, settlements(deliveries, finish)) {
							switch a.State {
							case forms.Done:
								settled.Add(1)
							case forms.Busy:
								again = append(again, deliveries[i])
							default:
								t.Errorf("settle row %s: %v (%v)", deliveries[i].ID, a.State, a.Err)
								return
							}
						}
						deliveries = again
					}
				}
			})
		}
		running.Wait()
		equal(t, "rows left", count(t, s, table), "0")
	})
}
