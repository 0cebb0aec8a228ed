package postgres

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
)

// BeginWork implements [store.Worker]: one round trip. The level is always named, since a database or
// a role may have another default.
func (h *heldSession) BeginWork(ctx context.Context, o store.TxOptions, first ...store.Step) (store.Work, error) {
	level := o.Level
	if level == "" {
		level = dialect.ReadCommitted
	}
	w := &work{h.session}
	before := []string{begin(level), "SET LOCAL idle_in_transaction_session_timeout = 0"}
	if _, err := h.run(ctx, before, first, nil); err != nil {
		return nil, errors.Join(err, w.Rollback())
	}
	return w, nil
}

func begin(level dialect.Level) string { return "BEGIN ISOLATION LEVEL " + level.SQL() }

// run sends the texts before, the steps and the texts after them together, reads all of the answers
// and gives that to the last of the texts. The server skips what comes after a failure.
func (c session) run(ctx context.Context, before []string, steps []store.Step, after []string) (last pgconn.CommandTag, err error) {
	batch := &pgx.Batch{}
	exec := func(texts []string) {
		for _, sql := range texts {
			batch.Queue(sql).Exec(func(tag pgconn.CommandTag) error {
				last = tag
				return nil
			})
		}
	}
	exec(before)
	for _, s := range steps {
		query := batch.Queue(s.Statement.Text(1), arguments(s.Args)...)
		if s.Row != nil {
			query.Query(func(rows pgx.Rows) error { return each(rows, s.Row) })
		}
	}
	exec(after)
	return last, c.conn.SendBatch(ctx, batch).Close()
}

// Ping implements [store.Worker].
func (h *heldSession) Ping(ctx context.Context) error { return h.conn.Ping(ctx) }

// Pipeline implements [store.Pipeliner].
func (s *Store) Pipeline(ctx context.Context, lockTimeout time.Duration, steps ...store.Step) error {
	before := []string{begin(dialect.ReadCommitted), "SET LOCAL lock_timeout = " + strconv.FormatInt(lockTimeout.Milliseconds(), 10)}
	return s.with(ctx, func(c session) error {
		w := &work{c}
		if err := w.commit(ctx, before, steps); err != nil {
			return errors.Join(err, w.Rollback())
		}
		return nil
	})
}

// work is an open transaction of a held session.
type work struct{ session }

// CommitWith implements [store.Work]: one round trip.
func (w *work) CommitWith(ctx context.Context, last ...store.Step) error {
	return w.commit(ctx, nil, last)
}

// commit runs texts and steps and commits. The commit of a transaction in which a statement has failed rolls
// it back, and is no error to the server.
func (c session) commit(ctx context.Context, before []string, steps []store.Step) error {
	tag, err := c.run(ctx, before, steps, []string{"COMMIT"})
	if err == nil && tag.String() != "COMMIT" {
		err = &pgconn.PgError{Severity: "ERROR", Code: "25P02",
			Message: "a statement of the transaction had failed, so that its commit rolled it back"}
	}
	return err
}

// Commit implements [store.Tx].
func (w *work) Commit(ctx context.Context) error { return w.CommitWith(ctx) }

// Rollback implements [store.Tx]. A closed connection has rolled back.
func (w *work) Rollback() error {
	if w.conn.IsClosed() || w.conn.PgConn().TxStatus() == 'I' {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), rollbackTimeout)
	defer cancel()
	_, err := w.conn.Exec(ctx, "ROLLBACK")
	return err
}
