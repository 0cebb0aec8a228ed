// Package bench measures the host beside the loops that a team would write by hand. Both drain the same table on the
// same database, with the same rows and the same pool, and take turns, so that a noisy machine is unfair to neither.
package bench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/databases"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
)

// Form is how the rows of a bench are held.
type Form string

// The forms, as the command line names them.
const (
	Lease    Form = "lease"
	RowLock  Form = "row-lock"
	Advisory Form = "advisory"
)

// Forms lists every form.
func Forms() []Form { return []Form{Lease, RowLock, Advisory} }

// Options say what is measured.
type Options struct {
	// URL is the database's; empty is a new SQLite file.
	URL       string
	Databases []databases.Database
	// Forms are those to measure; nil is every one that the database has.
	Forms   []Form
	Workers []int
	Rows    int
	Payload int // bytes
	// Keys is how many keys of the advisory form the rows share; 0 is a key for each.
	Keys   int
	Rounds int
	// Limit ends a drain that is not through its rows; so long are rows written for their latency.
	Limit time.Duration
	// Latency has the host run at half of what it reached, and idle, and takes the time of each row.
	Latency bool
	// Module is the handler's file; empty is the one that the program carries.
	Module string
	// Beside are other programs that take turns with the host in the lease form.
	Beside []Program
	// Processes has so many processes of the host drain the table together, in the place of everything else. Program is
	// this program's file, which runs them.
	Processes []int
	Program   string
	// Log takes what the host has to say.
	Log slog.Handler
	// Progress is told of each drain before it begins.
	Progress func(done, total int, what string)
}

// bench is one run.
type bench struct {
	Options
	dir    string // for what ends with the run
	db     database
	store  store.Store
	report *Report
}

// Run measures, and leaves nothing behind in the database, whatever ends it.
func Run(ctx context.Context, o Options) (report *Report, err error) {
	b := &bench{Options: o}
	if b.dir, err = os.MkdirTemp("", "inbox-wasm-bench"); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.dir)) }()
	if b.URL == "" {
		b.URL = "sqlite:" + filepath.Join(b.dir, "bench.db")
	}
	if err := b.handler(); err != nil {
		return nil, err
	}
	if b.store, err = databases.Open(ctx, b.Databases, b.URL, store.Options{MaxConnections: 1}); err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	defer func() { err = errors.Join(err, b.store.Close()) }()
	if err := b.chooseForms(); err != nil {
		return nil, err
	}
	if b.db, err = b.open(ctx); err != nil {
		return nil, fmt.Errorf("open the database for the loops: %w", err)
	}
	defer func() { err = errors.Join(err, b.db.close()) }()
	version, err := b.store.Version(ctx)
	if err != nil {
		return nil, fmt.Errorf("ask the database for its version: %w", err)
	}
	b.report = &Report{Database: b.store.Dialect().Name() + " " + version, Rows: o.Rows, Payload: o.Payload, Rounds: o.Rounds}
	if err := b.measure(ctx); err != nil {
		return nil, err
	}
	return b.report, nil
}

// chooseForms fills in the forms that the database has, and refuses those that it lacks.
func (b *bench) chooseForms() error {
	d := b.store.Dialect()
	_, lease := d.(dialect.Lease)
	_, rowLock := d.(dialect.RowLock)
	_, advisory := d.(dialect.Advisory)
	has := map[Form]bool{Lease: lease, RowLock: rowLock, Advisory: advisory}
	if b.Forms == nil {
		b.Forms = slices.DeleteFunc(Forms(), func(f Form) bool { return !has[f] })
	}
	for _, f := range b.Forms {
		if !has[f] {
			return fmt.Errorf("%s has no %s form", d.Name(), f)
		}
	}
	return nil
}

// contestant drains the table once.
type contestant struct {
	name string
	// host is the contestant of the host that this one is compared with; empty for the host itself.
	host  string
	drain func(ctx context.Context, t *queue, workers int) (drained, error)
}

// measure has the contestants of each form and number of workers take turns.
func (b *bench) measure(ctx context.Context) error {
	done, total := 0, 0
	for _, f := range b.Forms {
		total += len(b.contestants(f)) * len(b.Workers) * b.Rounds
	}
	for _, f := range b.Forms {
		if err := b.measureForm(ctx, f, &done, total); err != nil {
			return err
		}
	}
	b.Progress(total, total, "")
	return nil
}

func (b *bench) measureForm(ctx context.Context, f Form, done *int, total int) (err error) {
	t, err := b.newQueue(ctx, f)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.drop()) }()
	list := b.contestants(f)
	for _, workers := range b.Workers {
		r := newResults(f, workers, list)
		for round := range b.Rounds {
			for i := range list {
				c := (i + round) % len(list) // whoever comes first meets what the last one left in the caches
				b.Progress(*done, total, fmt.Sprintf("%s, %d workers: %s", f, workers, list[c].name))
				d, err := b.once(ctx, t, list[c], workers)
				if ctx.Err() != nil {
					return ctx.Err() // what was cut off says nothing
				}
				if err != nil {
					return fmt.Errorf("%s, %s, %d workers: %w", f, list[c].name, workers, err)
				}
				r.add(c, d)
				*done++
			}
		}
		b.report.add(r)
		if !b.Latency {
			continue
		}
		err := errors.Join(b.latency(ctx, t, r), b.idle(ctx, t, workers))
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return fmt.Errorf("%s, latency, %d workers: %w", f, workers, err)
		}
	}
	return nil
}

// once fills the table and drains it.
func (b *bench) once(ctx context.Context, t *queue, c contestant, workers int) (drained, error) {
	if b.Processes == nil {
		if err := t.fill(ctx); err != nil {
			return drained{}, err
		}
	}
	d, err := c.drain(ctx, t, workers)
	if err == nil && d.rows == 0 {
		err = fmt.Errorf("no row was settled in %v", b.Limit)
	}
	return d, err
}

// contestants are those of a form, the host first.
func (b *bench) contestants(f Form) []contestant {
	if b.Processes != nil {
		var list []contestant
		for _, n := range b.Processes {
			list = append(list, b.processes(n))
			if len(list) > 1 {
				list[len(list)-1].host = list[0].name
			}
		}
		return list
	}
	list := []contestant{b.host("host", 0)}
	if f == RowLock {
		list = append(list, b.host("host, 16 a transaction", 16))
	}
	for _, l := range b.db.loops(f) {
		against := "host"
		if f == RowLock && l.size > 1 {
			against = list[1].name
		}
		list = append(list, contestant{name: l.name, host: against, drain: b.loop(l)})
	}
	if f == Lease {
		for _, p := range b.Beside {
			list = append(list, contestant{name: p.Name, host: "host", drain: b.beside(p)})
		}
	}
	return list
}

// connections is the size of the pool, of the host and of the loops.
func connections(workers int) int { return workers + 2 }
