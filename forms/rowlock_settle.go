package forms

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
)

// Settle ends the deliveries of a claim by the commit of the transaction that holds them: all of them
// take effect, or none. It answers each of them.
func (r *RowLock) Settle(ctx context.Context, settlements []*Settlement) []Answer {
	answers := make([]Answer, len(settlements))
	settled := make([]bool, len(settlements))
	for i, first := range settlements {
		if settled[i] {
			continue
		}
		h := first.Delivery.hold
		var rows []*Settlement
		var indexes []int
		for j := i; j < len(settlements); j++ {
			if settlements[j].Delivery.hold == h {
				rows, indexes, settled[j] = append(rows, settlements[j]), append(indexes, j), true
			}
		}
		answer := r.settle(ctx, h, rows)
		for _, j := range indexes {
			answers[j] = answer
		}
	}
	return answers
}

// settle ends one transaction.
func (r *RowLock) settle(ctx context.Context, h *hold, rows []*Settlement) Answer {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended {
		return Answer{State: Lost}
	}
	now := r.options.Now()
	err := h.endGuest(ctx, rows)
	if err == nil {
		err = h.tx.CommitWith(ctx, r.steps(now, rows)...)
	}
	if err != nil {
		return r.unsettled(h, now, rows, err)
	}
	if r.fifo != nil {
		r.fifo.settled(rows)
	}
	h.end(true)
	r.leaveOutReturned(now, rows)
	return Answer{}
}

// unsettled ends a transaction whose commit has failed. The lock is held.
func (r *RowLock) unsettled(h *hold, now time.Time, rows []*Settlement, err error) Answer {
	failure := r.store.Failure(err)
	var uncommitted *store.Uncommitted
	if failure == store.Unanswered && !errors.As(err, &uncommitted) {
		h.end(false)
		r.leaveOutRefused(now, rows)
		return Answer{State: Unknown, Err: fmt.Errorf("commit rows of %s: %w", r.table, err)}
	}
	h.end(failure != store.Unanswered && h.tx.Rollback() == nil)
	switch {
	case h.rows > 1:
		r.alone.Store(int64(h.rows))
	case failure == store.Refused:
		r.leaveOutRefused(now, rows)
	}
	return Answer{State: RolledBack, Err: fmt.Errorf("settle rows of %s: %w", r.table, err)}
}

// Chains implements [Chained]. A row that goes back may have to be left out of the next claim, which nobody knows before
// it has gone back.
func (r *RowLock) Chains(settlements []*Settlement) bool {
	h := settlements[0].Delivery.hold
	if _, ok := h.tx.(store.Chainer); !ok || r.fifo != nil || r.rules != nil || r.Alone() || len(settlements) != h.rows {
		return false
	}
	return !slices.ContainsFunc(settlements, func(s *Settlement) bool { return s.Change == Return || s.Delivery.hold != h })
}

// SettleAndClaim implements [Chained].
func (r *RowLock) SettleAndClaim(ctx context.Context, settlements []*Settlement, limit int) ([]Answer, []*Delivery, error) {
	h := settlements[0].Delivery.hold
	answer, next, err := r.chain(ctx, h, settlements, limit)
	if err != nil {
		err = fmt.Errorf("claim from %s: %w", r.table, err)
	}
	return slices.Repeat([]Answer{answer}, len(settlements)), next, err
}

func (r *RowLock) chain(ctx context.Context, h *hold, rows []*Settlement, limit int) (Answer, []*Delivery, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended {
		return Answer{State: Lost}, nil, nil
	}
	now := r.options.Now()
	look := r.look(limit)
	committed, err := h.tx.(store.Chainer).Chain(ctx, r.transaction(), r.steps(now, rows), look.step)
	switch {
	case !committed:
		return r.unsettled(h, now, rows, err), nil, nil
	case err != nil:
		h.end(r.store.Failure(err) != store.Unanswered && h.tx.Rollback() == nil)
		return Answer{}, nil, err
	}
	// The session and its transaction are the next hold's.
	h.ended = true
	after := r.newHold(h.session)
	after.tx = h.tx
	return Answer{}, after.holds(look.batch), nil
}

// steps are the statements of the settlements. A row whose last settlement was refused is
// given a reason that every character set holds, in case it was the reason.
func (r *RowLock) steps(now time.Time, rows []*Settlement) []store.Step {
	var steps []store.Step
	var finished []*Settlement
	for _, row := range rows {
		if r.leftOut.take(row.Delivery.ID) {
			row, _ = row.plain()
		}
		if row.Change == Finish && r.finishMany != nil && len(rows) > 1 {
			finished = append(finished, row)
			continue
		}
		if row.Change == Return && !r.changes(row) {
			continue
		}
		b := &bind{source: &r.source, now: now, one: row}
		for i := range r.change[row.Change] {
			s := &r.change[row.Change][i]
			steps = append(steps, store.Step{Statement: s, Args: b.arguments(s, 0)})
		}
	}
	if len(finished) > 0 {
		b := &bind{source: &r.source, now: now, rows: finished}
		steps = append(steps, store.Step{Statement: r.finishMany, Args: b.arguments(r.finishMany, 0)})
	}
	return steps
}

// changes reports whether a row that goes back goes back otherwise than it was claimed.
func (r *RowLock) changes(row *Settlement) bool {
	return r.table.Has(dialect.RetryAfter) && !row.Until.IsZero() ||
		r.table.Has(dialect.Attempt) && !row.Uncount ||
		r.table.Has(dialect.Error) && row.Reason != ""
}

// leaveOutReturned leaves out the rows that are to wait and have no column that says so.
func (r *RowLock) leaveOutReturned(now time.Time, rows []*Settlement) {
	if r.table.Has(dialect.RetryAfter) {
		return
	}
	for _, row := range rows {
		if row.Change == Return && row.Until.After(now) {
			r.leftOut.add(leftRow{id: row.Delivery.ID, until: row.Until})
		}
	}
}

// leaveOutRefused leaves out rows that could not be settled: they are back at the head of their queue,
// and would fail there again and again before the rows behind them.
func (r *RowLock) leaveOutRefused(now time.Time, rows []*Settlement) {
	for _, row := range rows {
		backoff := time.Second
		if r.options.Backoff != nil {
			backoff = r.options.Backoff(row.Delivery)
		}
		r.leftOut.add(leftRow{id: row.Delivery.ID, until: now.Add(backoff), refused: true})
	}
}
