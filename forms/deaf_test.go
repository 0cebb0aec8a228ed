package forms_test

import (
	"context"
	"errors"
	"testing"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
)

var errLost = errors.New("the answer was lost")

// deaf is a store that loses the answer of what takes effect next: of a commit, or of a statement
// that commits on its own.
type deaf struct {
	store.Store
	lose losing
	// lost counts the answers that were lost, asked all that were asked for since.
	lost, asked int
}

type losing uint8

const (
	nothing losing = iota
	// before the database has heard, and after it has done what it was told.
	before
	after
)

func (d *deaf) Failure(err error) store.Failure {
	if errors.Is(err, errLost) {
		return store.Unanswered
	}
	return d.Store.Failure(err)
}

// once loses one answer.
func (d *deaf) once(run func() error, undo func() error) error {
	d.asked++
	lose := d.lose
	d.lose = nothing
	switch lose {
	case before:
		d.lost++
		return errors.Join(errLost, undo())
	case after:
		d.lost++
		return errors.Join(errLost, run())
	default:
		return run()
	}
}

func nought() error { return nil }

func (d *deaf) Query(ctx context.Context, s *dialect.Statement, n int, args []any, row func([][]byte) error) error {
	if d.lose != nothing {
		row = func([][]byte) error { return nil }
	}
	return d.once(func() error { return d.Store.Query(ctx, s, n, args, row) }, nought)
}

func (d *deaf) Exec(ctx context.Context, s *dialect.Statement, n int, args []any) (changed int64, err error) {
	err = d.once(func() (err error) {
		changed, err = d.Store.Exec(ctx, s, n, args)
		return err
	}, nought)
	return changed, err
}

func (d *deaf) Begin(ctx context.Context) (store.Tx, error) {
	tx, err := d.Store.Begin(ctx)
	return &deafTx{tx, d}, err
}

type deafTx struct {
	store.Tx
	store *deaf
}

func (t *deafTx) Commit(ctx context.Context) error {
	return t.store.once(func() error { return t.Tx.Commit(ctx) }, t.Rollback)
}

func (d *deaf) Hold(ctx context.Context) (store.Session, error) {
	session, err := d.Store.Hold(ctx)
	return &deafSession{session, d}, err
}

type deafSession struct {
	store.Session
	store *deaf
}

func (s *deafSession) BeginWork(ctx context.Context, o store.TxOptions, first ...store.Step) (store.Work, error) {
	work, err := s.Session.BeginWork(ctx, o, first...)
	return &deafWork{work, s.store}, err
}

type deafWork struct {
	store.Work
	store *deaf
}

func (w *deafWork) CommitWith(ctx context.Context, last ...store.Step) error {
	return w.store.once(func() error { return w.Work.CommitWith(ctx, last...) }, w.Rollback)
}

// eachDeaf runs a test on every database, for an answer that is lost before and one that is lost
// after the statement took effect.
func eachDeaf(t *testing.T, run func(t *testing.T, s *deaf, lose losing)) {
	t.Helper()
	for lose, name := range map[losing]string{before: "before it took effect", after: "after it took effect"} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, s store.Store) { run(t, &deaf{Store: s}, lose) })
		})
	}
}
