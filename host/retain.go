package host

import (
	"context"
	"log/slog"
	"time"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/host/admin"
	"github.com/inbox-wasm/inbox-wasm/host/config"
)

// sweeper deletes the rows of a table that have been processed for longer than the table retains them. Several
// processes may sweep one table: each passes over what another is deleting.
type sweeper struct {
	table *config.Table
	admin *admin.Admin
	log   *slog.Logger
	now   func() time.Time
}

const (
	// sweepEvery is how often a table is swept that retains its rows for long.
	sweepEvery = time.Minute
	// sweepTimeout bounds one transaction of a sweep.
	sweepTimeout = 30 * time.Second
)

// run sweeps until ctx ends.
func (s *sweeper) run(ctx context.Context) {
	pause := min(max(s.table.Retain/10, time.Second), sweepEvery)
	failed := false
	for {
		switch rows, err := s.sweep(ctx); {
		case ctx.Err() != nil:
			return
		case err != nil && !failed:
			s.log.Error("processed rows could not be deleted; trying again", "table", s.table.Key, "error", err, "pause", pause)
			failed = true
		case err == nil:
			failed = false
			if rows > 0 {
				s.log.Info("processed rows are deleted", "table", s.table.Key, "rows", rows, "older_than", s.table.Retain)
			}
		}
		if !rest(ctx, pause) {
			return
		}
	}
}

// sweep deletes what is old now, in transactions of bounded size. It rests as long as each of them took, so that the
// database has the time for its queue.
func (s *sweeper) sweep(ctx context.Context) (sum int64, err error) {
	before := s.now().Add(-s.table.Retain)
	for {
		began := time.Now()
		bounded, cancel := context.WithTimeout(ctx, sweepTimeout)
		n, err := s.admin.Sweep(bounded, s.table.Key, before)
		cancel()
		sum += n
		if err != nil || n == 0 || !rest(ctx, time.Since(began)) {
			return sum, err
		}
	}
}

// rest waits, and says whether it came to the end of the pause.
func rest(ctx context.Context, pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// retention refuses what cannot be swept, and warns of tables that are read whole for it.
func (c *checker) retention(ctx context.Context, s store.Store, g *generation) {
	for _, declared := range g.config.Tables {
		t := g.tables[declared]
		if declared.Retain == 0 || t == nil {
			continue
		}
		d, ok := s.Dialect().(dialect.Inspector)
		if !ok {
			c.table(declared, "retain", "the dialect of "+s.Dialect().Name()+" deletes no processed rows", "remove retain, and delete them yourself")
			continue
		}
		if found, err := forms.StartsIndex(ctx, s, t, declared.ProcessedAt); err != nil || !found {
			w := config.Problem{File: c.config.Path, Line: declared.LineOf("retain"), Key: path("tables", declared.Key, "retain"),
				What: "no index finds the rows of " + t.String() + " that were processed long ago, so each sweep reads all of it", Remedy: d.SweepIndex(t)}
			if err != nil {
				w.What = err.Error()
			}
			c.warn(w)
		}
	}
}
