package sqlstore

import (
	"context"
	"errors"
	"time"

	"github.com/inbox-wasm/inbox-wasm/dialect/store"
)

// BeginWork implements [store.Worker]. The transaction is begun by its text and not by database/sql,
// which would roll it back when ctx ends.
func (s *session) BeginWork(ctx context.Context, o store.TxOptions, first ...store.Step) (store.Work, error) {
	w := &work{session: s, open: true}
	for _, sql := range s.begin(o) {
		if _, err := s.held.ExecContext(ctx, sql); err != nil {
			return nil, errors.Join(err, w.Rollback())
		}
	}
	if err := s.run(ctx, first); err != nil {
		return nil, errors.Join(err, w.Rollback())
	}
	return w, nil
}

// run runs steps one after the other.
func (c conn) run(ctx context.Context, steps []store.Step) error {
	for _, step := range steps {
		var err error
		if step.Row != nil {
			err = c.Query(ctx, step.Statement, 0, step.Args, step.Row)
		} else {
			_, err = c.Exec(ctx, step.Statement, 0, step.Args)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Ping implements [store.Worker].
func (s *session) Ping(ctx context.Context) error { return s.held.PingContext(ctx) }

// work is an open transaction of a held session.
type work struct {
	*session
	open bool
}

// CommitWith implements [store.Work].
func (w *work) CommitWith(ctx context.Context, last ...store.Step) error {
	if err := w.run(ctx, last); err != nil {
		return &store.Uncommitted{Err: err}
	}
	_, err := w.held.ExecContext(ctx, "COMMIT")
	w.open = err != nil
	return err
}

// Commit implements [store.Tx]. A commit that fails is rolled back; where that fails too, the session
// is broken, and its next statement says so.
func (w *work) Commit(ctx context.Context) error {
	err := w.CommitWith(ctx)
	if err != nil && w.Rollback() != nil {
		w.open = false
	}
	return err
}

// rollbackTimeout bounds the wait for a server that does not answer.
const rollbackTimeout = 5 * time.Second

// Rollback implements [store.Tx].
func (w *work) Rollback() error {
	if !w.open {
		return nil
	}
	w.open = false
	ctx, cancel := context.WithTimeout(context.Background(), rollbackTimeout)
	defer cancel()
	_, err := w.held.ExecContext(ctx, "ROLLBACK")
	return err
}
