package forms

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
)

// Claim takes at most limit claimable rows, in claim order. With ahead it leaves out the rows on their
// last attempt, which only a free thread may take: a crash would spend it before it began.
func (l *Lease) Claim(ctx context.Context, limit int, ahead bool) ([]*Delivery, error) {
	var rows []claimedRow
	var err error
	if l.fifo != nil {
		rows, err = l.claimWith(func() (*claimed, error) { return l.claimHeads(ctx, limit) })
	} else {
		rows, err = l.claimFromMark(ctx, limit, ahead)
	}
	if err != nil {
		return nil, fmt.Errorf("claim from %s: %w", l.table, err)
	}
	deliveries := make([]*Delivery, len(rows))
	for i := range rows {
		deliveries[i] = rows[i].delivery
		if l.rules != nil {
			deliveries[i].guest = &guest{lock: newLock()}
		}
	}
	return deliveries, nil
}

// claimFromMark claims from the mark on, and where that is not enough, all over the table.
func (l *Lease) claimFromMark(ctx context.Context, limit int, ahead bool) ([]claimedRow, error) {
	statements, partial := &l.claim, false
	if ahead {
		statements, partial = &l.ahead, l.options.MaxAttempts > 0
	}
	at, marked := l.mark.begin(l.options.Now(), partial)
	var rows []claimedRow
	if marked {
		var err error
		if rows, err = l.claimOrdered(ctx, &statements.marked, at, limit); err != nil {
			return nil, err
		}
	}
	if missing := limit - len(rows); missing > 0 {
		more, err := l.claimOrdered(ctx, &statements.all, position{}, missing)
		switch {
		case err != nil && len(rows) == 0:
			return nil, err
		case len(rows) == 0:
			rows = more
		default: // what was claimed is not given up for an error that the next claim will meet again
			rows = append(rows, more...)
			slices.SortStableFunc(rows, l.claimOrder)
		}
	}
	if l.mark.every > 0 {
		l.mark.end(l.lastPosition(rows, limit))
	}
	return rows, nil
}

// lastPosition is where a claim has ended. The next one may begin there where this one was full, and, where new
// rows come before those that wait for a retry, took only such.
func (l *Lease) lastPosition(rows []claimedRow, limit int) (at position, ok bool) {
	if len(rows) < limit || limit == 0 {
		return position{}, false
	}
	last := rows[limit-1]
	key, ok := last.delivery.ID[0].(int64)
	if l.table.Has(dialect.RetryAfter) && l.table.Column(dialect.RetryAfter).Nullable && last.retryAfter != "" {
		return position{}, false
	}
	return position{last.retryAfter, key}, ok
}

// claimOrdered claims once, in claim order.
func (l *Lease) claimOrdered(ctx context.Context, c *dialect.LeaseClaim, at position, limit int) ([]claimedRow, error) {
	rows, err := l.claimWith(func() (*claimed, error) { return l.claimOnce(ctx, c, at, limit) })
	if !c.Ordered {
		slices.SortStableFunc(rows, l.claimOrder)
	}
	return rows, err
}

// claimWith runs a claim again that failed for a reason that passes.
func (l *Lease) claimWith(once func() (*claimed, error)) (rows []claimedRow, err error) {
	err = l.persist(func() error {
		batch, err := once()
		if err == nil {
			rows = batch.rows
		}
		return err
	})
	return rows, err
}

func (l *Lease) claimOnce(ctx context.Context, c *dialect.LeaseClaim, at position, limit int) (batch *claimed, err error) {
	b, batch := l.newClaim(limit)
	b.mark = at
	if c.Stamp == nil {
		return batch, l.take(ctx, l.store, c, b, batch)
	}
	session, err := l.store.Hold(ctx)
	if err != nil {
		return nil, err
	}
	tx, err := session.BeginWork(ctx, store.TxOptions{}, store.Step{Statement: &c.Take, Args: b.arguments(&c.Take, 0), Row: batch.read(&c.Take, false)})
	if err != nil {
		return nil, errors.Join(err, session.Release())
	}
	if len(batch.rows) == 0 {
		endSession(session, tx.Rollback() == nil)
		return batch, nil
	}
	stamp := l.newStamp(c, b, batch.rows)
	if err = tx.CommitWith(ctx, stamp.steps...); err != nil {
		endSession(session, l.store.Failure(err) != store.Unanswered && tx.Rollback() == nil)
		return nil, fmt.Errorf("commit: %w", err)
	}
	endSession(session, true)
	return batch, stamp.read()
}

// newClaim reads "now" once: what is due, which leases have ended and the new expiry all start from it.
func (l *Lease) newClaim(limit int) (*bind, *claimed) {
	now := l.options.Now()
	return &bind{source: &l.source, now: now, expiry: l.expiry(now), limit: limit},
		&claimed{source: &l.source, expires: now.Add(l.options.Lease), arena: arena{rows: limit}}
}

// stamp writes the lease into the rows of a claim that has locked and read them, and reads back what the lease column made
// of the expiry.
type stamp struct {
	rows  []claimedRow
	token string
	steps []store.Step
}

func (l *Lease) newStamp(c *dialect.LeaseClaim, b *bind, rows []claimedRow) *stamp {
	all := make([]Settlement, len(rows))
	b.rows = make([]*Settlement, len(rows))
	for i, row := range rows {
		all[i].Delivery = row.delivery
		b.rows[i] = &all[i]
	}
	s := &stamp{rows: rows}
	write := step(c.Stamp, b)
	b.rows = b.rows[:1] // all of them get the same expiry
	reread := step(c.Reread, b)
	reread.Row = func(v [][]byte) error {
		s.token = string(v[len(l.columns)])
		return nil
	}
	s.steps = []store.Step{write, reread}
	return s
}

// read gives the rows their token.
func (s *stamp) read() error {
	if s.token == "" {
		return errors.New("a stamped row is not there to be read back")
	}
	for _, row := range s.rows {
		row.delivery.token = s.token
	}
	return nil
}

// take runs a claim's statements one by one, and adds the rows that it took to the batch.
func (l *Lease) take(ctx context.Context, w writer, c *dialect.LeaseClaim, b *bind, batch *claimed) error {
	before := len(batch.rows)
	counted := c.Stamp == nil
	if err := w.Query(ctx, &c.Take, 0, b.arguments(&c.Take, 0), batch.read(&c.Take, counted)); err != nil {
		return err
	}
	rows := batch.rows[before:]
	if counted || len(rows) == 0 {
		return nil
	}
	stamp := l.newStamp(c, b, rows)
	write, reread := stamp.steps[0], stamp.steps[1]
	if _, err := w.Exec(ctx, write.Statement, write.N, write.Args); err != nil {
		return err
	}
	if err := w.Query(ctx, reread.Statement, reread.N, reread.Args, reread.Row); err != nil {
		return err
	}
	return stamp.read()
}

// listStep is what the length of a long list is a multiple of.
const listStep = 64

// listLength is the length at which a list of n rows is sent, so that few different texts reach the database: the next
// power of two, and for long lists, of which a server reads every entry, the next multiple of listStep.
func listLength(n int) int {
	if n > listStep {
		return (n + listStep - 1) / listStep * listStep
	}
	length := 1
	for length < n {
		length *= 2
	}
	return length
}
