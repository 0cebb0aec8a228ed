// Command soak runs one service for long on each of the databases of the test servers, in every form that they have, under
// a load that is even, and says at the end of each twentieth of the time what the process and the databases have grown to.
// Flat is what is at most 1.1 times what it was after a tenth.
//
//	go run ./internal/testserver -durable -- go run ./internal/soak -for 1h
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/host"
	"github.com/inbox-wasm/inbox-wasm/host/admin"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

func main() {
	length := flag.Duration("for", time.Hour, "how long it runs")
	rate := flag.Int("rate", 100, "rows a second in each form on each database")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *length, *rate); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

const samples = 20

func run(ctx context.Context, length time.Duration, rate int) (err error) {
	dir, err := os.MkdirTemp("", "inbox-wasm-soak")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	urls := map[string]string{
		"PostgreSQL": os.Getenv(testdb.PostgresVariable),
		"MariaDB":    os.Getenv(testdb.MariaDBVariable),
		"SQLite":     "sqlite:" + filepath.Join(dir, "soak.db"),
	}
	if err := guest(dir); err != nil {
		return err
	}
	var all []*soak
	defer func() {
		for _, s := range all {
			err = errors.Join(err, s.close())
		}
	}()
	for name, url := range urls {
		if url == "" {
			return fmt.Errorf("no server of %s: run it under internal/testserver", name)
		}
		s, err := open(ctx, dir, name, url, rate)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b *soak) int { return len(b.name) - len(a.name) })
	running, stop := context.WithTimeout(ctx, length)
	defer stop()
	var working sync.WaitGroup
	failed := make(chan error, 2*len(all))
	for _, s := range all {
		working.Go(func() { failed <- s.service.Run(running, nil) })
		working.Go(func() { failed <- s.produce(running) })
	}
	report := &report{}
	tick := time.NewTicker(length / samples)
	defer tick.Stop()
	for n := 1; n < samples; n++ {
		select {
		case <-tick.C:
		case err := <-failed:
			stop()
			working.Wait()
			return fmt.Errorf("it ended after %d twentieths: %w", n, err)
		case <-running.Done():
		}
		if running.Err() != nil {
			break
		}
		if err := report.sample(ctx, n, all); err != nil {
			stop()
			working.Wait()
			return err
		}
	}
	<-running.Done()
	working.Wait()
	close(failed)
	for e := range failed {
		err = errors.Join(err, e)
	}
	report.print()
	return err
}

// report is what was found, a column for each quantity.
type report struct {
	names []string
	rows  [][]float64
}

func (r *report) sample(ctx context.Context, n int, all []*soak) error {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	descriptors, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	names := []string{"heap, KiB", "goroutines", "descriptors"}
	values := []float64{float64(m.HeapAlloc) / 1024, float64(runtime.NumGoroutine()), float64(len(descriptors))}
	var handled, lost, unsettled int64
	for _, s := range all {
		if err := s.purge(ctx); err != nil {
			return err
		}
		sizes, err := s.sizes(ctx)
		if err != nil {
			return err
		}
		names = append(names, s.name+" sessions", s.name+" tables, KiB")
		values = append(values, sizes[0], sizes[1]/1024)
		for _, form := range s.forms {
			c := s.service.Counts(form)
			handled += c.Acked + c.Delayed + c.DeadLettered
			lost, unsettled = lost+c.Lost, unsettled+c.Unsettled
		}
	}
	r.names, r.rows = names, append(r.rows, values)
	fmt.Fprintf(os.Stderr, "%s %d/%d %d handled, %d lost, %d unsettled", time.Now().Format(time.TimeOnly), n, samples, handled, lost, unsettled)
	for i, name := range names {
		fmt.Fprintf(os.Stderr, ", %s %.0f", name, values[i])
	}
	fmt.Fprintln(os.Stderr)
	return nil
}

func (r *report) print() {
	const tenth = samples/10 - 1
	if len(r.rows) <= tenth {
		return
	}
	w := table.NewWriter()
	w.SetOutputMirror(os.Stdout)
	w.AppendHeader(table.Row{"", "after a tenth", "most after it", "at the end", "end ÷ tenth", "flat"})
	for i, name := range r.names {
		most := 0.0
		for _, row := range r.rows[tenth:] {
			most = max(most, row[i])
		}
		first, last := r.rows[tenth][i], r.rows[len(r.rows)-1][i]
		w.AppendRow(table.Row{name, fmt.Sprintf("%.0f", first), fmt.Sprintf("%.0f", most), fmt.Sprintf("%.0f", last), fmt.Sprintf("%.2f", last/first), last <= 1.1*first})
	}
	w.RenderMarkdown()
}

// soak is a service on one database.
type soak struct {
	name    string
	service *host.Service
	forms   []string // handlers and tables are named by them
	rate    int
	sizes   func(ctx context.Context) ([2]float64, error) // sessions and bytes
	close   func() error
}

// produce writes rows at the rate into every table: most are acked, one of twenty fails three times and dies.
func (s *soak) produce(ctx context.Context) error {
	const every = 100 * time.Millisecond
	tick := time.NewTicker(every)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
		batch := make([]forms.Message, max(s.rate/int(time.Second/every), 1))
		for i := range batch {
			batch[i].Payload = []byte("ack")
			if i%20 == 0 {
				batch[i].Payload = []byte("retry")
			}
			batch[i].Group = "work"
		}
		for _, form := range s.forms {
			if err := s.service.Enqueue(ctx, form, batch); err != nil && ctx.Err() == nil {
				return err
			}
		}
	}
}

// purge deletes the dead letters.
func (s *soak) purge(ctx context.Context) error {
	for _, form := range s.forms {
		if _, err := s.service.Admin().Purge(ctx, form, admin.Purge{State: admin.Dead}, func(int64) {}); err != nil {
			return err
		}
	}
	return nil
}

var quiet = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
