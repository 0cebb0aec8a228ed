package forms

import (
	"context"
	"errors"
	"fmt"

	"github.com/inbox-wasm/inbox-wasm/dialect/store"
)

var _ Transactional = (*RowLock)(nil)

// errConnectionLost is the error of a statement after the claim's transaction was lost.
var errConnectionLost = errors.New("the connection that held the row was lost")

func (r *RowLock) newHold(session store.Session) *hold {
	h := &hold{mu: newLock(), session: session}
	if r.rules != nil {
		h.guest = &guest{}
	}
	return h
}

// Run implements [Transactional]: in the claim's own transaction, behind a savepoint.
func (r *RowLock) Run(ctx context.Context, d *Delivery, call Call) ([]byte, error) {
	request, err := r.rules.request(&call)
	if err != nil {
		return nil, err
	}
	h := d.hold
	if err := h.mu.LockContext(ctx); err != nil {
		return nil, err
	}
	defer h.mu.Unlock()
	g := h.guest
	switch {
	case h.ended:
		return nil, errConnectionLost
	case g.spoiled == nil && g.work == nil:
		if err := g.set(ctx, h.tx); err != nil {
			g.spoiled = err
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			return nil, err
		}
	}
	if g.spoiled != nil {
		return nil, g.earlier()
	}
	return g.run(ctx, r.rules, request, call.Trusted)
}

// Opens implements [Transactional]: the claim has the connection.
func (r *RowLock) Opens() bool { return false }

// Spoiled implements [Transactional].
func (r *RowLock) Spoiled(d *Delivery) error {
	d.hold.mu.Lock()
	defer d.hold.mu.Unlock()
	return d.hold.guest.spoiled
}

// End implements [Transactional]: every settlement is the commit of the claim's transaction. Here an ack only
// makes sure of what the guest wrote; where that fails, the row is still locked, and is settled as a failure.
func (r *RowLock) End(ctx context.Context, s *Settlement) (Answer, bool) {
	h := s.Delivery.hold
	h.mu.Lock()
	defer h.mu.Unlock()
	if !s.Keep || h.ended || h.guest.work == nil {
		return Answer{}, false
	}
	if err := h.guest.keep(ctx, r.rules); err != nil {
		h.guest.spoiled = err
		return Answer{State: RolledBack, Err: fmt.Errorf("settle row %s of %s: %w", s.Delivery.ID, r.table, err)}, true
	}
	h.guest.kept = true
	return Answer{}, false
}

// endGuest takes back what the guest wrote unless it is kept. The lock is held.
func (h *hold) endGuest(ctx context.Context, rows []*Settlement) error {
	if h.guest == nil || h.guest.work == nil {
		return nil
	}
	if len(rows) == 1 && rows[0].Keep && h.guest.kept {
		return nil
	}
	if err := h.guest.revert(ctx); err != nil {
		return &store.Uncommitted{Err: err}
	}
	return nil
}
