package forms

import (
	"context"
	"errors"
	"fmt"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
)

var _ Transactional = (*Lease)(nil)

// errLeaseLost is the error of a delivery whose row is somebody else's.
var errLeaseLost = errors.New("the lease was lost: the row was taken by another claim, or is gone")

// transactional prepares the form for deliveries with transactions of their own.
func (l *Lease) transactional() (err error) {
	if l.rules, err = guestsOf(l.store, &l.options); err != nil || l.rules == nil {
		return err
	}
	d, ok := l.dialect.(dialect.LeaseTransactional)
	if !ok {
		return fmt.Errorf("table %s: %s has no transactions for deliveries in the lease form", l.table, l.dialect.Name())
	}
	if level := l.options.Level; level != "" {
		if kept, levels := dialect.Keeps(d, level); !kept {
			return fmt.Errorf("table %s: %s does not keep %q; it keeps %s", l.table, d.Name(), level, list(levels))
		}
	}
	lock := d.LeaseLock(l.table)
	l.lockRow = &lock
	return nil
}

// Run implements [Transactional]. The first statement opens the transaction, which locks the row while the
// delivery's token still stands in it. From then on the row is held by that lock and its lease is not extended:
// an extension would change the row under the transaction's feet, and at the higher levels the ack would fail
// for it.
func (l *Lease) Run(ctx context.Context, d *Delivery, call Call) ([]byte, error) {
	r, err := l.rules.request(&call)
	if err != nil {
		return nil, err
	}
	g := d.guest
	if err := g.lock.LockContext(ctx); err != nil {
		return nil, err
	}
	defer g.lock.Unlock()
	if g.spoiled == nil && g.work == nil {
		if err := l.begin(ctx, d); err != nil {
			return nil, err
		}
	}
	if g.spoiled != nil {
		return nil, g.earlier()
	}
	return g.run(ctx, l.rules, r, call.Trusted)
}

// begin opens the delivery's transaction. While it waits for a connection, the lease is extended.
func (l *Lease) begin(ctx context.Context, d *Delivery) error {
	g := d.guest
	g.lock.Unlock()
	session, err := l.store.Hold(ctx)
	g.lock.Lock() // nobody holds it for longer than an extension takes
	if err == nil {
		if err = l.lockAndSet(ctx, d, session); err == nil {
			g.session = session
			return nil
		}
		err = errors.Join(err, session.Close())
	}
	g.spoiled = fmt.Errorf("open the transaction of row %s of %s: %w", d.ID, l.table, err)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return g.spoiled
}

func (l *Lease) lockAndSet(ctx context.Context, d *Delivery, session store.Session) error {
	var tx store.Work
	err := l.persist(func() (err error) {
		tx, err = l.lockOwn(ctx, d, session)
		return err
	})
	if err != nil {
		return err
	}
	if err := d.guest.set(ctx, tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return nil
}

// lockOwn begins a transaction with the lock on the delivery's row. After an extension without an answer
// either expiry may stand in it.
func (l *Lease) lockOwn(ctx context.Context, d *Delivery, session store.Session) (store.Work, error) {
	for range 1 + len(d.others) {
		held := false
		b := &bind{source: &l.source, now: l.options.Now(), one: &Settlement{Delivery: d}}
		tx, err := session.BeginWork(ctx, store.TxOptions{Level: l.options.Level}, store.Step{
			Statement: l.lockRow, Args: b.arguments(l.lockRow, 0),
			Row: func([][]byte) error {
				held = true
				return nil
			},
		})
		if err != nil || held {
			return tx, err
		}
		if err := tx.Rollback(); err != nil {
			return nil, err
		}
		d.turn()
	}
	return nil, errLeaseLost
}

// turn makes the next expiry that may stand in the row the token.
func (d *Delivery) turn() {
	if len(d.others) > 0 {
		d.others = append(d.others, d.token)
		d.token, d.others = d.others[0], d.others[1:]
	}
}

// Opens implements [Transactional].
func (l *Lease) Opens() bool { return true }

// Spoiled implements [Transactional].
func (l *Lease) Spoiled(d *Delivery) error {
	d.guest.lock.Lock()
	defer d.guest.lock.Unlock()
	return d.guest.spoiled
}

// End implements [Transactional]. Every end is settled under the lock that the transaction has on the row, so
// that no other claim comes between.
func (l *Lease) End(ctx context.Context, s *Settlement) (Answer, bool) {
	g := s.Delivery.guest
	g.lock.Lock()
	defer g.lock.Unlock()
	switch {
	case g.work != nil:
	case s.Keep && g.spoiled != nil:
		// The transaction was lost after the guest had acked, and what it wrote with it.
		return Answer{State: RolledBack, Err: fmt.Errorf("settle row %s of %s: %w", s.Delivery.ID, l.table, g.spoiled)}, true
	default:
		return Answer{}, false
	}
	g.over = true
	err := l.settleOwn(ctx, s)
	if err == nil {
		err = g.work.CommitWith(ctx)
	}
	work, session := g.work, g.session
	g.work = nil
	if err == nil {
		if l.fifo != nil {
			l.fifo.settled([]*Settlement{s})
		}
		endSession(session, wash(work))
		return Answer{}, true
	}
	var uncommitted *store.Uncommitted
	var before unsettled
	unanswered := l.store.Failure(err) == store.Unanswered && !errors.As(err, &uncommitted) && !errors.As(err, &before)
	if unanswered {
		endSession(session, false)
		return Answer{State: Unknown, Err: fmt.Errorf("commit row %s of %s: %w", s.Delivery.ID, l.table, err)}, true
	}
	endSession(session, work.Rollback() == nil && wash(work))
	if s.Keep {
		return Answer{State: RolledBack, Err: fmt.Errorf("settle row %s of %s: %w", s.Delivery.ID, l.table, err)}, true
	}
	return Answer{}, false
}

// unsettled is an error from before the commit was asked for.
type unsettled struct{ error }

func (u unsettled) Unwrap() error { return u.error }

// settleOwn runs the statements of a settlement in the delivery's transaction.
func (l *Lease) settleOwn(ctx context.Context, s *Settlement) error {
	g := s.Delivery.guest
	if s.Keep {
		if err := g.keep(ctx, l.rules); err != nil {
			return unsettled{err}
		}
	} else if err := g.revert(ctx); err != nil {
		return unsettled{err}
	}
	now := l.options.Now()
	var err error
	for range tries {
		var f *found
		f, err = l.settleByChange(ctx, g.work, now, []*Settlement{s})
		if err == nil && f.rows[0] {
			return nil
		}
		if err == nil {
			err = errPassedOver
		}
		if !errors.Is(err, errPassedOver) {
			break
		}
	}
	return unsettled{err}
}

// endSession gives a connection back, or closes it where nobody knows what it still holds. The pool drops
// a connection that is broken.
func endSession(session store.Session, clean bool) {
	if clean {
		_ = session.Release()
	} else {
		_ = session.Close()
	}
}

// Extend moves the leases of deliveries to their full length from now, and answers each of them. Those with a
// transaction are held by it.
func (l *Lease) Extend(ctx context.Context, deliveries []*Delivery) []Answer {
	if l.rules == nil {
		return l.extend(ctx, deliveries)
	}
	answers := make([]Answer, len(deliveries))
	var rest []*Delivery
	var indexes []int
	for i, d := range deliveries {
		if l.heldByTransaction(ctx, d) {
			d.expires = l.options.Now().Add(l.options.Lease)
			continue
		}
		rest, indexes = append(rest, d), append(indexes, i)
	}
	for i, answer := range l.extend(ctx, rest) {
		answers[indexes[i]] = answer
		rest[i].guest.lock.Unlock()
	}
	return answers
}

// heldByTransaction reports whether a transaction holds the delivery, or is about to. One that does not is
// locked: its guest waits for the end of the extension. A transaction that the server no longer has was rolled
// back: its delivery cannot be acked, and its lease is extended again from the next round on.
func (l *Lease) heldByTransaction(ctx context.Context, d *Delivery) bool {
	g := d.guest
	if !g.lock.TryLock() {
		return true // a statement is on its way
	}
	if g.work == nil && !g.over {
		return false
	}
	defer g.lock.Unlock()
	if g.over {
		return true // and settled, or about to be
	}
	if err := g.session.Ping(ctx); err != nil {
		g.spoiled = fmt.Errorf("the connection of the delivery's transaction was lost: %w", err)
		g.work = nil
		endSession(g.session, false)
	}
	return true
}
