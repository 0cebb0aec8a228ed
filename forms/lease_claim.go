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
	statements := &l.claim
	if ahead {
		statements = &l.ahead
	}
	var batch *claimed
	err := l.persist(func() (err error) {
		if l.fifo != nil {
			batch, err = l.claimHeads(ctx, limit)
		} else {
			batch, err = l.claimOnce(ctx, statements, limit)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("claim from %s: %w", l.table, err)
	}
	if !statements.Ordered && l.fifo == nil {
		slices.SortStableFunc(batch.rows, l.claimOrder)
	}
	deliveries := make([]*Delivery, len(batch.rows))
	for i := range batch.rows {
		deliveries[i] = batch.rows[i].delivery
		if l.rules != nil {
			deliveries[i].guest = &guest{lock: newLock()}
		}
	}
	return deliveries, nil
}

func (l *Lease) claimOnce(ctx context.Context, c *dialect.LeaseClaim, limit int) (batch *claimed, err error) {
	b, batch := l.newClaim(limit)
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
		&claimed{source: &l.source, expires: now.Add(l.options.Lease)}
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
