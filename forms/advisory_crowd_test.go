package forms_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// crowd counts the deliveries of each key that are in work, and of each row.
type crowd struct {
	mu       sync.Mutex
	inWork   map[string]int
	seen     map[string]int
	last     map[string]int
	problems []string
}

func (c *crowd) begin(d *forms.Delivery) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key, number := string(d.Payload[:2]), 0
	if _, err := fmt.Sscan(string(d.Payload[2:]), &number); err != nil {
		c.problems = append(c.problems, err.Error())
	}
	if c.inWork[key]++; c.inWork[key] > 1 {
		c.problems = append(c.problems, "two rows of key "+key+" at once")
	}
	if c.seen[string(d.Payload)]++; c.seen[string(d.Payload)] > 1 {
		c.problems = append(c.problems, "row "+string(d.Payload)+" twice")
	}
	if number <= c.last[key] {
		c.problems = append(c.problems, fmt.Sprintf("row %d of key %s after row %d", number, key, c.last[key]))
	}
	c.last[key] = number
}

func (c *crowd) end(d *forms.Delivery) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.inWork[string(d.Payload[:2])]--
}

func (c *crowd) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.seen)
}

// TestAdvisoryCrowd has eight claimers on two stores, as two processes have them, take 2,000 rows of 50
// keys: no two rows of a key overlap, each row is delivered once, and each key's rows in claim order.
func TestAdvisoryCrowd(t *testing.T) {
	const keys, each, claimers = 50, 40, 8
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		s := open(t, db)
		table := keyed(t, s, channels())
		q := s.Dialect().Quote
		var rows []string
		for n := range each {
			for k := range keys {
				rows = append(rows, fmt.Sprintf("('g', '%02d', '%02d%d')", k, k, n+1))
			}
		}
		script(t, s, "INSERT INTO "+quoted(s, table)+" ("+q("group")+", "+q("channel")+", "+q("payload")+") VALUES "+strings.Join(rows, ", "))
		stores := []store.Store{second(t, db, 8), second(t, db, 8)}
		locks := []*forms.Locks{forms.NewLocks(), forms.NewLocks()}
		if db.Name == "sqlite" {
			stores[1], locks[1] = stores[0], locks[0] // one process alone may serve it
		}
		c := &crowd{inWork: map[string]int{}, seen: map[string]int{}, last: map[string]int{}}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var group sync.WaitGroup
		for i := range claimers {
			f := advisory(t, stores[i%2], table, sharing(locks[i%2]))
			group.Go(func() {
				for ctx.Err() == nil && c.count() < keys*each {
					deliveries, err := f.Claim(ctx, 1+i%4, false)
					if err != nil {
						t.Error(err)
						cancel()
						return
					}
					for _, d := range deliveries {
						c.begin(d)
					}
					for _, d := range deliveries {
						c.end(d)
						for _, answer := range f.Settle(context.WithoutCancel(ctx), []*forms.Settlement{finish(d)}) {
							if answer.State != forms.Done {
								t.Errorf("row %s: %v (%v)", d.Payload, answer.State, answer.Err)
								cancel()
							}
						}
					}
				}
			})
		}
		group.Wait()
		if len(c.problems) > 0 {
			t.Errorf("%d problems, the first: %s", len(c.problems), c.problems[0])
		}
		equal(t, "rows", count(t, s, table), "0")
		equal(t, "delivered", integer(c.count()), integer(keys*each))
	})
}

// coarse is a store whose database gives every key the same hash.
type coarse struct{ store.Store }

type coarseDialect struct{ dialect.Advisory }

func (c coarse) Dialect() dialect.Dialect { return coarseDialect{c.Store.Dialect().(dialect.Advisory)} }

func (c coarseDialect) AdvisoryClaim(t *dialect.Table, s dialect.Selection) dialect.Statement {
	statement := c.Advisory.AdvisoryClaim(t, s)
	statement.SQL = strings.ReplaceAll(statement.SQL, "hashtextextended(", "public.coarse(")
	return statement
}

// TestAdvisoryKeysOfOneHash has two keys with one hash wait for each other, in one process and in two: a
// session would get the lock twice.
func TestAdvisoryKeysOfOneHash(t *testing.T) {
	db := testdb.Database{Name: "postgres", URL: testdb.Postgres(t)}
	s := open(t, db)
	script(t, s, "CREATE FUNCTION coarse(text, int) RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT 7::bigint'")
	table := keyed(t, s, channels())
	put(t, s, table, "a", 1)
	put(t, s, table, "b", 1)
	one, two := advisory(t, coarse{s}, table), advisory(t, coarse{second(t, db, 4)}, table)
	d := takes(t, one, 5, "a1")
	takes(t, one, 5, "")
	takes(t, two, 5, "")
	ends(t, one, forms.Done, finish(d[0]))
	d = takes(t, two, 5, "b1")
	ends(t, two, forms.Done, finish(d[0]))
}
