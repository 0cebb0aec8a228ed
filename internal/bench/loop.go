package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/inbox-wasm/inbox-wasm/dialect/databases"
)

// database is what the loops and the measurement need of a database, beside the host and apart from its store.
type database interface {
	// fill writes the rows of an empty table.
	fill(ctx context.Context, t *queue) error
	// loops are the hand-written ones of a form.
	loops(f Form) []loop
	// counted reads what the database counts, once the sessions of a contestant have ended.
	counted(ctx context.Context) (counts, error)
	// cpu is what the database has used of a processor, where it can be told.
	cpu() (time.Duration, bool)
	close() error
}

// open opens the database that the URL selects, for the loops.
func (b *bench) open(ctx context.Context) (database, error) {
	d, err := databases.Find(b.Databases, b.URL)
	if err != nil {
		return nil, err
	}
	for _, kind := range []struct {
		scheme string
		open   func(ctx context.Context, url string) (database, error)
	}{{"postgres", openPostgres}, {"mysql", openMySQL}, {"sqlite", openSQLite}} {
		if slices.Contains(d.Schemes, kind.scheme) {
			return kind.open(ctx, b.URL)
		}
	}
	return nil, fmt.Errorf("nobody has written loops for %s", d.Dialect.Name())
}

// loop is a hand-written one.
type loop struct {
	name string
	size int // rows a claim
	open func(ctx context.Context, t *queue, workers int) (crew, error)
}

// crew is the workers of a loop with what they share.
type crew interface {
	// worker takes what one worker needs. Its turn claims rows, handles and settles them, and says how many; when it
	// is over it takes another.
	worker(ctx context.Context) (turn func(context.Context) (int, error), done func(), err error)
	close()
}

// nothing is how long a worker waits that has found nothing to claim.
const nothing = time.Millisecond

// loop is a loop as a contestant.
func (b *bench) loop(l loop) func(context.Context, *queue, int) (drained, error) {
	return func(ctx context.Context, t *queue, workers int) (d drained, err error) {
		before, err := b.db.counted(ctx)
		if err != nil {
			return d, err
		}
		if d, err = t.run(ctx, l, workers); err != nil {
			return d, err
		}
		return d, d.count(ctx, b.db, before)
	}
}

// run drains the table with the workers of a loop. As for the host, connections are opened on the way.
func (t *queue) run(ctx context.Context, l loop, workers int) (drained, error) {
	c, err := l.open(ctx, t, workers)
	if err != nil {
		return drained{}, err
	}
	defer c.close()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	began := t.start()
	deadline := began.at.Add(t.Limit)
	var settled atomic.Int64
	errs := make([]error, workers)
	var group sync.WaitGroup
	for i := range workers {
		group.Go(func() {
			turn, done, err := c.worker(ctx)
			if err != nil {
				errs[i] = err
				stop()
				return
			}
			defer done()
			for int(settled.Load()) < t.Rows && time.Now().Before(deadline) && ctx.Err() == nil {
				n, err := turn(ctx)
				settled.Add(int64(n))
				if err != nil {
					errs[i] = err
					stop()
					return
				}
				if n == 0 {
					time.Sleep(nothing)
				}
			}
		})
	}
	group.Wait()
	return began.end(int(settled.Load())), errors.Join(errs...)
}

// job is a row that a loop has claimed.
type job struct {
	id      int64
	payload []byte
}

// handle is the handler of the loops: it parses the payload, as the guest does.
func handle(jobs ...job) error {
	for _, j := range jobs {
		if !json.Valid(j.payload) {
			return fmt.Errorf("the payload of row %d is no JSON", j.id)
		}
	}
	return nil
}

// all is an error unless a statement changed as many rows as it was about.
func all(what string, changed int64, want int) error {
	if changed != int64(want) {
		return fmt.Errorf("%s changed %d rows of %d", what, changed, want)
	}
	return nil
}

const (
	// leaseTime is the lease of the loops, as long as the host's.
	leaseTime = 30 * time.Second
	// candidates is how many rows a loop of the advisory form looks at to find a free key.
	candidates = 64
)
