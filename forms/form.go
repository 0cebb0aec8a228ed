package forms

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
)

// Form is one subscription's way to take rows, to hold them and to end its hold.
type Form interface {
	// Claim takes at most limit claimable rows, in claim order. With ahead it takes them for threads
	// that are not free yet.
	Claim(ctx context.Context, limit int, ahead bool) ([]*Delivery, error)
	// Probe finds out whether a claim would be answered, and takes nothing.
	Probe(ctx context.Context) error
	// Settle ends deliveries and answers each of them.
	Settle(ctx context.Context, settlements []*Settlement) []Answer
	// Waiting counts the rows that the subscription reads.
	Waiting(ctx context.Context) (Waiting, error)
	// Statements lists every statement that the form runs, to be prepared at the start or shown.
	Statements() []Named
	// Extend prolongs the hold on deliveries, or finds out whether it lasts, and answers each of
	// them. It is called once in each KeepEvery, never beside Settle.
	Extend(ctx context.Context, deliveries []*Delivery) []Answer
	// KeepEvery is how often Extend has to be called for a delivery in work.
	KeepEvery() time.Duration
}

// Named is a statement with the name of what it is for.
type Named struct {
	Name      string
	Statement dialect.Statement
}

// Options say which rows a subscription takes, and how it holds them.
type Options struct {
	// Table is described.
	Table *dialect.Table
	// Group is read unless AllGroups is set, which reads every group but those in Except.
	Group     string
	AllGroups bool
	Except    []string
	// Lease is how long the lease form holds a row without an extension: whole seconds, at least one.
	Lease time.Duration
	// MaxAttempts is 0 for no cap.
	MaxAttempts int64
	// DeadGroup or DeadTable is where dead letters go; neither means that none are made.
	DeadGroup string
	DeadTable *dialect.Table
	// FIFO keeps one row of a group in work at a time, in claim order.
	FIFO bool
	// Transactional deliveries have a transaction for what their guests write; see [Transactional].
	Transactional bool
	// Role is whose rights the statements of guests have in such a transaction; empty is the service's own.
	Role string
	// Level is the isolation level of the transactions in which deliveries are handled, or how they
	// begin where the database has no levels; empty is the database's own default for queues.
	Level dialect.Level
	// Backoff is how long this process leaves a row alone whose settlement was refused; nil is a second.
	Backoff func(*Delivery) time.Duration
	// Rest is how long this process leaves a FIFO group alone whose head was given back at once: the
	// head keeps its place, and would be claimed again and again.
	Rest time.Duration
	// Rescan is how long rows of the lease form may be overlooked that appear in front of those which the last claim
	// took; 0 is not at all.
	Rescan time.Duration
	// Indexed says that the table has the index of the claim order: see [MissingIndex].
	Indexed bool
	// Lock and Unlock are a user's own statements in the place of the dialect's, both or neither, for
	// the advisory lock form; Sessions is how many of them may hold such a lock at a time.
	Lock, Unlock string
	Sessions     int
	// Locks is the registry of the advisory locks that the process holds; nil is the process's own.
	Locks *Locks
	// Now is the host's clock.
	Now func() time.Time
}

func (o *Options) selection() dialect.Selection {
	return dialect.Selection{AllGroups: o.AllGroups, Except: len(o.Except), Indexed: o.Indexed}
}

// source is the rows of one subscription: what every form has.
type source struct {
	store   store.Store
	options Options
	table   *dialect.Table
	columns []dialect.Column // of the key
	// countsLate says that a settlement counts the attempt, since the claim does not.
	countsLate bool
}

func newSource(s store.Store, o Options) source {
	return source{store: s, options: o, table: o.Table, columns: o.Table.IDColumns()}
}

// tries is how often work is run that fails for a reason that passes, such as a deadlock.
const tries = 3

// persist runs work again that failed for a reason that passes: a deadlock, or a table that was altered
// since its statement was prepared.
func (s *source) persist(run func() error) (err error) {
	for range tries {
		if err = run(); err == nil || s.store.Failure(err) != store.Transient {
			break
		}
	}
	return err
}

// Waiting counts the rows that the subscription reads, by state.
type Waiting struct {
	// Held rows are in work somewhere, or were until a crash.
	Held int64
	// Due rows can be claimed now.
	Due int64
	// Delayed rows wait for their time.
	Delayed int64
}

// Waiting counts the subscription's rows.
func (s *source) Waiting(ctx context.Context) (Waiting, error) {
	statement := s.store.Dialect().Count(s.table, s.options.selection())
	b := &bind{source: s, now: s.options.Now()}
	var w Waiting
	err := s.store.Query(ctx, &statement, 0, b.arguments(&statement, 0), func(v [][]byte) error {
		var counts [3]int64
		for i := range counts {
			n, err := strconv.ParseInt(string(v[i]), 10, 64)
			if err != nil {
				return err
			}
			counts[i] = n
		}
		w = Waiting{Held: counts[0], Due: counts[1], Delayed: counts[2] - counts[1] - counts[0]}
		return nil
	})
	if err != nil {
		return Waiting{}, fmt.Errorf("count the rows of %s: %w", s.table, err)
	}
	return w, nil
}

// Skew is how far the database's clock is ahead of the host's, as far as that is certain: what the time of
// the question itself could explain is left out.
func Skew(ctx context.Context, s store.Store, now func() time.Time) (time.Duration, error) {
	statement := s.Dialect().Clock()
	var seconds float64
	before := now()
	err := s.Query(ctx, &statement, 0, nil, func(v [][]byte) (err error) {
		seconds, err = strconv.ParseFloat(string(v[0]), 64)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("read the database's clock: %w", err)
	}
	after := now()
	switch database := time.UnixMicro(int64(seconds * 1e6)); {
	case database.After(after):
		return database.Sub(after), nil
	case database.Before(before):
		return database.Sub(before), nil
	default:
		return 0, nil
	}
}

// New is the form that a table takes: the advisory lock form where it has a lock key, the lease form
// where a column plays locked_until, and otherwise the row lock form. It fails where the database has no such form.
func New(s store.Store, o Options) (Form, error) {
	if _, ok := s.Dialect().(dialect.Rows); !ok && !o.Table.Has(dialect.Payload) {
		return nil, fmt.Errorf("table %s: %s has no row mode, which a table without a payload takes", o.Table, s.Dialect().Name())
	}
	var form Form
	var err error
	switch {
	case o.Table.Key != nil:
		form, err = NewAdvisory(s, o)
	case o.Table.Has(dialect.LockedUntil):
		form, err = NewLease(s, o)
	default:
		form, err = NewRowLock(s, o)
	}
	if err != nil {
		return nil, err
	}
	return form, nil
}
