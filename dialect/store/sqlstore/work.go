package sqlstore

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
)

// BeginWork implements [store.Worker]. The transaction is begun by its text and not by database/sql,
// which would roll it back when ctx ends.
func (s *session) BeginWork(ctx context.Context, o store.TxOptions, first ...store.Step) (store.Work, error) {
	w := &work{session: s, open: true}
	if err := s.run(ctx, s.beginning(o, first)); err != nil {
		return nil, errors.Join(err, w.Rollback())
	}
	if s.config.Chain != "" {
		return &chain{w}, nil
	}
	return w, nil
}

// Ping implements [store.Worker].
func (s *session) Ping(ctx context.Context) error { return s.held.PingContext(ctx) }

// work is an open transaction of a held session.
type work struct {
	*session
	open bool
}

// CommitWith implements [store.Work]. Where all of it is one statement, an error without an answer may come from behind
// the commit.
func (w *work) CommitWith(ctx context.Context, last ...store.Step) error {
	if w.config.Together == nil {
		if err := w.run(ctx, last); err != nil {
			return &store.Uncommitted{Err: err}
		}
		last = nil
	}
	err := w.run(ctx, append(slices.Clip(last), commit))
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

// chain is a transaction that another one like it can take the place of.
type chain struct{ *work }

var _ store.Chainer = (*chain)(nil)

// probe is answered once everything in front of it has taken effect.
var probe = &dialect.Statement{SQL: "SELECT 1"}

// Chain implements [store.Chainer]. Where it is one statement, the answer to a question behind the commit says that this
// took effect, whatever comes of the rest.
func (c *chain) Chain(ctx context.Context, _ store.TxOptions, last []store.Step, first ...store.Step) (committed bool, err error) {
	next := plain(c.config.Chain)
	if c.config.Together == nil {
		if err := c.run(ctx, last); err != nil {
			return false, &store.Uncommitted{Err: err}
		}
		if err := c.run(ctx, []store.Step{next}); err != nil {
			return false, err
		}
		return true, c.run(ctx, first)
	}
	took := store.Step{Statement: probe, Row: func([][]byte) error {
		committed = true
		return nil
	}}
	err = c.run(ctx, slices.Concat(last, []store.Step{next, took}, first))
	return committed, err
}
