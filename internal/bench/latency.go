package bench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/host"
)

// writeEvery is how often rows are written: many share a commit, as they would have to at such rates.
const writeEvery = 10 * time.Millisecond

// latency writes rows at half of what the host reached, and takes the time of each from the commit of its insert to its
// settlement.
func (b *bench) latency(ctx context.Context, t *queue, r *results) error {
	if err := t.renew(ctx); err != nil {
		return err
	}
	rate := r.capacity() / 2
	b.Progress(0, 0, fmt.Sprintf("%s, %d workers: latency at %.0f rows a second", t.form, r.workers, rate))
	settlements := &settlements{next: b.Log, at: map[int]time.Time{}}
	var written []time.Time
	err := t.serve(ctx, setup{workers: r.workers}, settlements, func(ctx context.Context, s *host.Service) error {
		if err := warmUp(ctx, t, s); err != nil {
			return err
		}
		var err error
		if written, err = t.write(ctx, s, rate); err != nil {
			return err
		}
		return settlements.await(ctx, len(written)+1, t.Limit)
	})
	if err != nil {
		return err
	}
	return b.report.addLatency(Latency{Form: t.form, Workers: r.workers, Load: "half", Rate: float64(len(written)) / t.Limit.Seconds()}, settlements.since(written))
}

// idleRows is how many rows find the host idle, and idlePause how long it is left alone between them: not a multiple of
// anything that it waits for.
const (
	idleRows  = 200
	idlePause = 7 * time.Millisecond
)

// idle takes the time of rows that find the host with nothing to do: those that the same process writes, and where the
// database tells other sessions of rows, those that another one writes.
func (b *bench) idle(ctx context.Context, t *queue, workers int) error {
	if err := b.idleWith(ctx, t, setup{workers: workers}, "idle"); err != nil {
		return err
	}
	if _, ok := b.store.Dialect().(dialect.Notifies); !ok {
		return nil
	}
	return b.idleWith(ctx, t, setup{workers: workers, listen: true}, "idle, another process writes")
}

func (b *bench) idleWith(ctx context.Context, t *queue, how setup, load string) (err error) {
	if err := t.renew(ctx); err != nil {
		return err
	}
	b.Progress(0, 0, fmt.Sprintf("%s, %d workers: latency, %s", t.form, how.workers, load))
	settlements := &settlements{next: b.Log, at: map[int]time.Time{}}
	var written []time.Time
	began := time.Now()
	err = t.serve(ctx, how, settlements, func(ctx context.Context, s *host.Service) (err error) {
		if err := warmUp(ctx, t, s); err != nil {
			return err
		}
		writer := s
		if how.listen {
			// One that is not run knows nothing of the other but what the database tells.
			cfg, err := t.config(t.form, how)
			if err != nil {
				return err
			}
			if writer, err = host.Open(ctx, host.Options{Config: cfg, Log: slog.New(b.Log), Databases: t.Databases}); err != nil {
				return err
			}
			defer func() { err = errors.Join(err, writer.Close()) }()
		}
		for n := range idleRows {
			if err := writer.Enqueue(ctx, tableName, []forms.Message{{Payload: t.payload(n)}}); err != nil {
				return err
			}
			written = append(written, time.Now())
			if err := settlements.await(ctx, n+2, 0); err != nil {
				return err
			}
			time.Sleep(idlePause)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return b.report.addLatency(Latency{Form: t.form, Workers: how.workers, Load: load, Rate: idleRows / time.Since(began).Seconds()}, settlements.since(written))
}

// warmUp has the host settle a first row, so that its connections are open.
func warmUp(ctx context.Context, t *queue, s *host.Service) error {
	if err := s.Enqueue(ctx, tableName, []forms.Message{{Payload: t.payload(0)}}); err != nil {
		return err
	}
	for settled(s) == 0 {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(look):
		}
	}
	return nil
}

// write writes rows at a rate, through the host, which it wakes, and says when each was committed.
func (t *queue) write(ctx context.Context, s *host.Service, rate float64) (written []time.Time, err error) {
	tick := time.NewTicker(writeEvery)
	defer tick.Stop()
	began := time.Now()
	for {
		elapsed := time.Since(began)
		if elapsed >= t.Limit {
			return written, nil
		}
		var batch []forms.Message
		for n := len(written); float64(n) < rate*elapsed.Seconds(); n++ {
			batch = append(batch, forms.Message{Payload: t.payload(n)})
		}
		if len(batch) > 0 {
			if err := s.Enqueue(ctx, tableName, batch); err != nil {
				return nil, err
			}
			written = append(written, slices.Repeat([]time.Time{time.Now()}, len(batch))...)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// settlements is a log that takes the time of each settlement, by the row's key.
type settlements struct {
	next slog.Handler // of what somebody should read
	mu   sync.Mutex
	at   map[int]time.Time
}

// Enabled implements [slog.Handler].
func (s *settlements) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelDebug }

// Handle implements [slog.Handler].
func (s *settlements) Handle(ctx context.Context, r slog.Record) error {
	if r.Message == "settled" {
		r.Attrs(func(a slog.Attr) bool {
			if id, err := strconv.Atoi(a.Value.String()); err == nil && a.Key == "row" {
				s.mu.Lock()
				s.at[id] = r.Time
				s.mu.Unlock()
			}
			return a.Key != "row"
		})
	}
	if !s.next.Enabled(ctx, r.Level) {
		return nil
	}
	return s.next.Handle(ctx, r)
}

// WithAttrs implements [slog.Handler]. The bench has one handler, which no line needs to name.
func (s *settlements) WithAttrs([]slog.Attr) slog.Handler { return s }

// WithGroup implements [slog.Handler].
func (s *settlements) WithGroup(string) slog.Handler { return s }

// await waits for so many settlements, but not for ever.
func (s *settlements) await(ctx context.Context, n int, written time.Duration) error {
	patience := 3*written + 2*time.Second
	for limit := time.Now().Add(patience); ; {
		s.mu.Lock()
		missing := n - len(s.at)
		s.mu.Unlock()
		switch {
		case missing == 0:
			return nil
		case time.Now().After(limit):
			return fmt.Errorf("%d rows of %d are not settled %v after the last was written", missing, n, patience)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(look):
		}
	}
}

// since are the times from rows' commits to their settlements, sorted. Their keys count from 1, which is the first row's
// of all.
func (s *settlements) since(written []time.Time) []time.Duration {
	var times []time.Duration
	for n, at := range written {
		if settled, ok := s.at[n+2]; ok {
			times = append(times, max(0, settled.Sub(at)))
		}
	}
	slices.Sort(times)
	return times
}
