// Command river drains jobs with River, as a program that `inbox-wasm bench --beside` lets take turns: it reads what to do in its
// environment, works in a schema of its own, which it drops, and prints {"rows": n, "seconds": s}.
//
// Its settings are the best that were found: many workers, since that is how River claims many jobs at a time, and
// the shortest pauses between fetches that it takes. A job counts when its worker returns, shortly before its completion is
// committed, which is in River's favour.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

const (
	// schema is the program's own.
	schema = "inbox_wasm_bench_river"
	// insertJobs is how many jobs one COPY of the filling writes.
	insertJobs = 10_000
	// stopTimeout bounds the end of an interrupted run.
	stopTimeout = 5 * time.Second
)

// settings are what the program is told.
type settings struct {
	url           string
	rows, payload int
	workers       int // of River: its claims are as large as what is free of them
	connections   int
	limit         time.Duration
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	rows, took, err := run(ctx)
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(map[string]any{"rows": rows, "seconds": took.Seconds()})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "river:", err)
		os.Exit(1)
	}
}

// read gets the settings from the environment. RIVER_WORKERS and RIVER_CONNECTIONS are for finding the best ones.
func read() (s settings, err error) {
	number := func(name string, other int) int {
		text := os.Getenv(name)
		if text == "" && other > 0 {
			return other
		}
		n, failed := strconv.Atoi(text)
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("%s is %q and no number", name, text))
		}
		return n
	}
	s = settings{url: os.Getenv("BENCH_URL"), rows: number("BENCH_ROWS", 0), payload: number("BENCH_PAYLOAD", 0),
		workers: number("RIVER_WORKERS", 2000), connections: number("RIVER_CONNECTIONS", 16)}
	seconds, failed := strconv.ParseFloat(os.Getenv("BENCH_SECONDS"), 64)
	if failed != nil {
		err = errors.Join(err, fmt.Errorf("BENCH_SECONDS: %w", failed))
	}
	s.limit = time.Duration(seconds * float64(time.Second))
	return s, err
}

func run(ctx context.Context) (rows int, took time.Duration, err error) {
	s, err := read()
	if err != nil {
		return 0, 0, err
	}
	config, err := pgxpool.ParseConfig(s.url)
	if err != nil {
		return 0, 0, errors.New("BENCH_URL cannot be parsed")
	}
	config.MaxConns = int32(s.connections)
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return 0, 0, err
	}
	defer pool.Close()
	// A schema that exists is somebody else's.
	if _, err := pool.Exec(ctx, "CREATE SCHEMA "+schema); err != nil {
		return 0, 0, err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
		defer cancel()
		_, dropped := pool.Exec(ctx, "DROP SCHEMA "+schema+" CASCADE")
		err = errors.Join(err, dropped)
	}()
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Schema: schema, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return 0, 0, err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return 0, 0, err
	}
	return drain(ctx, s, pool)
}

// message is the arguments of a job.
type message struct {
	Number int    `json:"number"`
	Text   string `json:"text"`
	To     string `json:"to"`
}

func (message) Kind() string { return "message" }

// worker does nothing but count.
type worker struct {
	river.WorkerDefaults[message]
	last int64
	done atomic.Int64
	all  chan struct{}
}

func (w *worker) Work(context.Context, *river.Job[message]) error {
	if w.done.Add(1) == w.last {
		close(w.all)
	}
	return nil
}

// drain fills the queue and works it off, until the limit.
func drain(ctx context.Context, s settings, pool *pgxpool.Pool) (rows int, took time.Duration, err error) {
	w := &worker{last: int64(s.rows), all: make(chan struct{})}
	workers := river.NewWorkers()
	river.AddWorker(workers, w)
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{
		Schema:            schema,
		Logger:            slog.New(slog.DiscardHandler),
		Workers:           workers,
		Queues:            map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: s.workers}},
		FetchCooldown:     river.FetchCooldownMin,
		FetchPollInterval: river.FetchPollIntervalMin,
	})
	if err != nil {
		return 0, 0, err
	}
	if err := fill(ctx, s, pool, client); err != nil {
		return 0, 0, err
	}
	began := time.Now()
	if err := client.Start(ctx); err != nil {
		return 0, 0, err
	}
	limit := time.NewTimer(s.limit)
	defer limit.Stop()
	select {
	case <-w.all:
	case <-limit.C:
	case <-ctx.Done():
	}
	rows, took = int(w.done.Load()), time.Since(began)
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	return rows, took, errors.Join(ctx.Err(), client.StopAndCancel(stopping))
}

func fill(ctx context.Context, s settings, pool *pgxpool.Pool, client *river.Client[pgx.Tx]) error {
	for n := 0; n < s.rows; {
		var jobs []river.InsertManyParams
		for last := min(n+insertJobs, s.rows); n < last; n++ {
			m := message{Number: n, To: fmt.Sprintf("user-%d@example.com", n%1000)}
			empty, err := json.Marshal(m)
			if err != nil {
				return err
			}
			m.Text = strings.Repeat("x", max(0, s.payload-len(empty)))
			jobs = append(jobs, river.InsertManyParams{Args: m})
		}
		if _, err := client.InsertManyFast(ctx, jobs); err != nil {
			return err
		}
	}
	_, err := pool.Exec(ctx, "VACUUM (ANALYZE) "+schema+".river_job")
	return err
}
