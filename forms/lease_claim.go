package forms

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/inbox-wasm/inbox-wasm/dialect"
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
	tx, err := l.store.Begin(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, tx.Rollback()) }()
	if err := l.take(ctx, tx, c, b, batch); err != nil || len(batch.rows) == 0 {
		return batch, err
	}
	if err := tx.Commit(ctx); err != nil {
		return nil, fmt.Errorf("commit: %w", err)
	}
	return batch, nil
}

// newClaim reads "now" once: what is due, which leases have ended and the new expiry all start from it.
func (l *Lease) newClaim(limit int) (*bind, *claimed) {
	now := l.options.Now()
	return &bind{source: &l.source, now: now, expiry: l.expiry(now), limit: limit},
		&claimed{source: &l.source, expires: now.Add(l.options.Lease), arena: arena{rows: limit}}
}

// take runs a claim's statements and adds the rows that it took to the batch. In a claim of several
// steps it locks and reads the rows, stamps them, and reads back what the lease column made of the
// expiry.
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
	b.rows = make([]*Settlement, len(rows))
	for i, row := range rows {
		b.rows[i] = &Settlement{Delivery: row.delivery}
	}
	n := listLength(len(b.rows))
	if _, err := w.Exec(ctx, c.Stamp, n, b.arguments(c.Stamp, n)); err != nil {
		return err
	}
	token := ""
	err := w.Query(ctx, c.Reread, 1, b.arguments(c.Reread, 1), func(v [][]byte) error {
		token = string(v[len(l.columns)])
		return nil
	})
	if err != nil {
		return err
	}
	if token == "" {
		return errors.New("a stamped row is not there to be read back")
	}
	for _, row := range rows {
		row.delivery.token = token
	}
	return nil
}

// listLength is the length at which a list of n rows is sent: the next power of two, so that few
// different texts reach the database.
func listLength(n int) int {
	length := 1
	for length < n {
		length *= 2
	}
	return length
}
