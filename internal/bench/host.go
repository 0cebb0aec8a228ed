package bench

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/inbox-wasm/inbox-wasm/host"
)

// look is how often the host's counters are read.
const look = time.Millisecond

// serve runs the host on the table until work returns.
func (t *queue) serve(ctx context.Context, how setup, log slog.Handler, work func(context.Context, *host.Service) error) (err error) {
	cfg, err := t.config(t.form, how)
	if err != nil {
		return err
	}
	service, err := host.Open(ctx, host.Options{Config: cfg, Log: slog.New(log), Databases: t.Databases})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, service.Close()) }()
	running, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() {
		ended <- service.Run(running, nil)
		stop() // where it failed, the work waits for nothing
	}()
	err = work(running, service)
	stop()
	return errors.Join(err, <-ended)
}

// host is the host as a contestant.
func (b *bench) host(name string, claim int) contestant {
	return contestant{name: name, drain: func(ctx context.Context, t *queue, workers int) (d drained, err error) {
		before, err := b.db.counted(ctx)
		if err != nil {
			return d, err
		}
		err = t.serve(ctx, setup{workers: workers, claim: claim}, b.Log, func(ctx context.Context, s *host.Service) error {
			began := b.start()
			d = began.end(t.await(ctx, s))
			return ctx.Err()
		})
		if err != nil {
			return d, err
		}
		return d, d.count(ctx, b.db, before)
	}}
}

// await waits until every row is settled, or the limit has passed, and says how many are.
func (t *queue) await(ctx context.Context, s *host.Service) int {
	limit := time.NewTimer(t.Limit)
	defer limit.Stop()
	tick := time.NewTicker(look)
	defer tick.Stop()
	for settled(s) < t.Rows {
		select {
		case <-tick.C:
		case <-limit.C:
			return settled(s)
		case <-ctx.Done():
			return settled(s)
		}
	}
	return t.Rows
}

// settled counts the rows that are finished.
func settled(s *host.Service) int {
	c := s.Counts("bench")
	return int(c.Acked + c.Dropped)
}
