package forms

import (
	"context"
	"errors"
	"fmt"

	"github.com/inbox-wasm/inbox-wasm/dialect/store"
)

// Claim locks at most limit claimable rows, in claim order, in a transaction that stays open until they
// are settled. After a claim of several rows was rolled back it takes one row at a time, until each of
// those has had its turn: the one that fails then fails alone.
func (r *RowLock) Claim(ctx context.Context, limit int, _ bool) ([]*Delivery, error) {
	if r.fifo != nil {
		return r.claimHead(ctx)
	}
	alone := r.takeAlone()
	if alone || r.rules != nil {
		limit = 1
	}
	deliveries, err := r.lock(ctx, limit)
	if err != nil {
		return nil, fmt.Errorf("claim from %s: %w", r.table, err)
	}
	if alone && len(deliveries) == 0 {
		r.alone.Store(0) // somebody else has them
	}
	return deliveries, nil
}

// Alone implements [Connected].
func (r *RowLock) Alone() bool { return r.alone.Load() > 0 }

func (r *RowLock) takeAlone() bool {
	for {
		n := r.alone.Load()
		if n == 0 || r.alone.CompareAndSwap(n, n-1) {
			return n > 0
		}
	}
}

func (r *RowLock) lock(ctx context.Context, limit int) ([]*Delivery, error) {
	session, err := r.store.Hold(ctx)
	if err != nil {
		return nil, err
	}
	h := r.newHold(session)
	var look *look
	err = r.persist(func() (err error) {
		look = r.look(limit)
		h.tx, err = session.BeginWork(ctx, r.transaction(), look.step)
		return err
	})
	if err != nil {
		return nil, errors.Join(err, session.Release())
	}
	return h.holds(look.batch), nil
}

func (r *RowLock) transaction() store.TxOptions { return store.TxOptions{Level: r.level} }

// look is a claim's statement with what it finds.
type look struct {
	step  store.Step
	batch *claimed
}

func (r *RowLock) look(limit int) *look {
	now := r.options.Now()
	b := &bind{source: &r.source, now: now, limit: limit, leftOut: r.leftOut.list(now)}
	c := rowLockClaim{leftOut: leftOutLength(len(b.leftOut))}
	if limit <= maxTake {
		c.take = limit
	}
	statement := r.claim(c)
	batch := &claimed{source: &r.source, arena: arena{rows: limit}}
	return &look{store.Step{Statement: statement, Args: b.arguments(statement, 0), Row: batch.read(statement, false)}, batch}
}

// holds are the deliveries of the rows that the transaction has locked. Where there are none it ends.
func (h *hold) holds(batch *claimed) []*Delivery {
	if len(batch.rows) == 0 {
		h.end(h.tx.Rollback() == nil)
		return nil
	}
	h.rows = len(batch.rows)
	deliveries := make([]*Delivery, len(batch.rows))
	for i := range batch.rows {
		deliveries[i] = batch.rows[i].delivery
		deliveries[i].hold = h
	}
	return deliveries
}
