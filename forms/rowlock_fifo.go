package forms

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/inbox-wasm/inbox-wasm/dialect/store"
)

// headsAtOnce is how many groups one look of a claim finds, and looks how often it looks for its one row: the
// groups that other processes work on look free, since nobody sees that a locked row is in work.
const headsAtOnce, looks = 8, 32

// unlockIn bounds the release of a group's lock. A session that takes longer is closed, which releases
// it as well.
const unlockIn = 5 * time.Second

// claimHead takes the head of one group that has no row in work. The lock on the group is kept until the
// head is settled.
func (r *RowLock) claimHead(ctx context.Context) ([]*Delivery, error) {
	tried := map[string]bool{}
	for range looks {
		groups, err := r.fifo.groups(ctx, r.store, headsAtOnce)
		if err != nil {
			return nil, fmt.Errorf("claim from %s: %w", r.table, err)
		}
		before := len(tried)
		for _, group := range groups {
			if tried[group] || !r.fifo.begin(group) {
				continue
			}
			tried[group] = true
			deliveries, err := r.lockHead(ctx, group)
			if len(deliveries) > 0 {
				r.fifo.goOnBehind(group)
				return deliveries, nil
			}
			r.fifo.end(group)
			if err != nil {
				return nil, fmt.Errorf("claim from %s: %w", r.table, err)
			}
		}
		if len(groups) < headsAtOnce || len(tried) == before {
			break
		}
	}
	return nil, nil
}

// lockHead tries the lock of a group and takes the head, in one trip.
func (r *RowLock) lockHead(ctx context.Context, group string) ([]*Delivery, error) {
	session, err := r.store.Hold(ctx)
	if err != nil {
		return nil, err
	}
	now := r.options.Now()
	b := &bind{source: &r.source, now: now, group: group}
	batch := &claimed{source: &r.source}
	locked := false
	steps := []store.Step{
		{Statement: r.fifo.lock, Args: b.arguments(r.fifo.lock, 0), Row: one(&locked)},
		{Statement: &r.head, Args: b.arguments(&r.head, 0), Row: batch.read(&r.head, false)},
	}
	h := r.newHold(session)
	if h.tx, err = session.BeginWork(ctx, store.TxOptions{Level: r.level}, steps...); err != nil {
		// Whether the lock was taken is not known: with the session it ends.
		return nil, errors.Join(err, session.Close())
	}
	if locked && r.fifo.unlock != nil {
		h.release = func() bool { return r.unlockGroup(session, b) }
	}
	if !locked || len(batch.rows) == 0 || r.leftOut.waits(batch.rows[0].delivery.ID, now) {
		h.end(h.tx.Rollback() == nil)
		return nil, nil
	}
	unlock := h.release
	h.release = func() bool {
		defer r.fifo.end(group)
		return unlock == nil || unlock()
	}
	h.rows = 1
	d := batch.rows[0].delivery
	d.hold = h
	return []*Delivery{d}, nil
}

// unlockGroup releases the lock of a session on a group, after its transaction has ended.
func (r *RowLock) unlockGroup(session store.Session, b *bind) bool {
	ctx, cancel := context.WithTimeout(context.Background(), unlockIn)
	defer cancel()
	released := false
	err := session.Query(ctx, r.fifo.unlock, 0, b.arguments(r.fifo.unlock, 0), one(&released))
	return err == nil && released
}
