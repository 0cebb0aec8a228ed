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

// BeginWork implements [store.Worker]: one round trip.
func (h *heldSession) BeginWork(ctx context.Context, o store.TxOptions, first ...store.Step) (store.Work, error) {
	w := &work{h.session}
	var t trip
	t.begin(o)
	t.steps(first)
	if err := t.send(ctx, h.conn); err != nil {
		return nil, errors.Join(err, w.Rollback())
	}
	return w, nil
}

// trip is what travels together. The server skips what comes after a failure.
type trip struct {
	batch pgx.Batch
	// committed is the answer to a commit, empty where there was none.
	committed string
}

// begin starts a transaction for a delivery. The level is always named, since a database or a role may have another
// default.
func (t *trip) begin(o store.TxOptions) {
	level := o.Level
	if level == "" {
		level = dialect.ReadCommitted
	}
	t.text("BEGIN ISOLATION LEVEL " + level.SQL())
	t.text("SET LOCAL idle_in_transaction_session_timeout = 0")
}

// boundLocks bounds the waits of the transaction for locks.
func (t *trip) boundLocks(timeout time.Duration) {
	t.text("SET LOCAL lock_timeout = " + strconv.FormatInt(timeout.Milliseconds(), 10))
}

func (t *trip) text(sql string) { t.batch.Queue(sql) }

func (t *trip) steps(steps []store.Step) {
	for _, s := range steps {
		query := t.batch.Queue(s.Statement.Text(1), arguments(s.Args)...)
		if s.Row != nil {
			query.Query(func(rows pgx.Rows) error { return each(rows, s.Row) })
		}
	}
}

// commit ends a transaction. That of one in which a statement has failed rolls it back, and is no error to the server.
func (t *trip) commit() {
	t.batch.Queue("COMMIT").Exec(func(tag pgconn.CommandTag) error {
		if t.committed = tag.String(); t.committed == "COMMIT" {
			return nil
		}
		return &pgconn.PgError{Severity: "ERROR", Code: "25P02",
			Message: "a statement of the transaction had failed, so that its commit rolled it back"}
	})
}

// send sends everything and reads all of the answers.
func (t *trip) send(ctx context.Context, conn *pgx.Conn) error {
	return conn.SendBatch(ctx, &t.batch).Close()
}

// Ping implements [store.Worker].
func (h *heldSession) Ping(ctx context.Context) error { return h.conn.Ping(ctx) }

// Pipeline implements [store.Pipeliner].
func (s *Store) Pipeline(ctx context.Context, lockTimeout time.Duration, steps ...store.Step) error {
	return s.with(ctx, func(c session) error {
		var t trip
		t.text("BEGIN ISOLATION LEVEL " + dialect.ReadCommitted.SQL())
		t.boundLocks(lockTimeout)
		t.steps(steps)
		t.commit()
		if err := t.send(ctx, c.conn); err != nil {
			return errors.Join(err, (&work{c}).Rollback())
		}
		return nil
	})
}

// Sequence implements [store.Sequencer].
func (h *heldSession) Sequence(ctx context.Context, lockTimeout time.Duration, steps []store.Step, after ...store.Step) (committed bool, err error) {
	var t trip
	t.text("BEGIN ISOLATION LEVEL " + dialect.ReadCommitted.SQL())
	if lockTimeout > 0 {
		t.boundLocks(lockTimeout)
	}
	t.steps(steps)
	t.commit()
	t.steps(after)
	if err := t.send(ctx, h.conn); err != nil {
		return t.committed == "COMMIT", errors.Join(err, (&work{h.session}).Rollback())
	}
	return true, nil
}

// work is an open transaction of a held session.
type work struct{ session }

// CommitWith implements [store.Work]: one round trip.
func (w *work) CommitWith(ctx context.Context, last ...store.Step) error {
	var t trip
	t.steps(last)
	t.commit()
	return t.send(ctx, w.conn)
}

// Chain implements [store.Chainer].
func (w *work) Chain(ctx context.Context, o store.TxOptions, last []store.Step, first ...store.Step) (committed bool, err error) {
	var t trip
	t.steps(last)
	t.commit()
	t.begin(o)
	t.steps(first)
	err = t.send(ctx, w.conn)
	return t.committed == "COMMIT", err
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
