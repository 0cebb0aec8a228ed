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
func (r *RowLock) Run(ctx context.Context, d *Delivery, sql string, args []byte, limit int64) ([]byte, error) {
	request, err := newRequest(r.rules, sql, args, limit)
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
	return g.run(ctx, request)
}

// Opens implements [Transactional]: the claim has the connection.
func (r *RowLock) Opens() bool { return false }

// Spoiled implements [Transactional].
func (r *RowLock) Spoiled(d *Delivery) error {
	d.hold.mu.Lock()
	defer d.hold.mu.Unlock()
	return d.hold.guest.spoiled
}

// End implements [Transactional]: every settlement is the commit of the claim's transaction.
func (r *RowLock) End(context.Context, *Settlement) (Answer, bool) { return Answer{}, false }

// endGuest keeps what the guest wrote, or takes it back. The lock is held.
func (h *hold) endGuest(ctx context.Context, rows []*Settlement) error {
	if h.guest == nil || h.guest.work == nil {
		return nil
	}
	var err error
	switch keep := len(rows) == 1 && rows[0].Keep; {
	case !keep:
		err = h.guest.revert(ctx)
	case h.guest.spoiled != nil:
		err = fmt.Errorf("a statement of the delivery has failed: %w", h.guest.spoiled)
	default:
		err = h.guest.keep(ctx)
	}
	if err != nil {
		return &store.Uncommitted{Err: err}
	}
	return nil
}
