package forms

import (
	"context"
	"errors"
	"fmt"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
)

var _ Transactional = (*Advisory)(nil)

// transactional prepares the form for deliveries with transactions of their own.
func (a *Advisory) transactional() (err error) {
	if a.rules, err = guestsOf(a.store, &a.options); err != nil || a.rules == nil || a.options.Level == "" {
		return err
	}
	if kept, levels := dialect.Keeps(a.dialect, a.options.Level); !kept {
		return fmt.Errorf("table %s: %s does not keep %q; it keeps %s", a.table, a.dialect.Name(), a.options.Level, list(levels))
	}
	return nil
}

// Run implements [Transactional]: on the session that holds the delivery's key, which is the delivery's alone.
func (a *Advisory) Run(ctx context.Context, d *Delivery, call Call) ([]byte, error) {
	r, err := a.rules.request(&call)
	if err != nil {
		return nil, err
	}
	k, g := d.held.keeper, d.guest
	if err := k.mu.LockContext(ctx); err != nil {
		return nil, err
	}
	defer k.mu.Unlock()
	switch {
	case !k.kept[d]:
		g.spoiled = errConnectionLost
		return nil, errConnectionLost
	case g.spoiled == nil && g.work == nil:
		if err := a.begin(ctx, k, g); err != nil {
			g.spoiled = fmt.Errorf("open the transaction of row %s of %s: %w", d.ID, a.table, err)
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			return nil, g.spoiled
		}
	}
	if g.spoiled != nil {
		return nil, g.earlier()
	}
	return g.run(ctx, a.rules, r, call.Trusted)
}

// begin opens the delivery's transaction. Where the process keeps the locks, any connection will do.
func (a *Advisory) begin(ctx context.Context, k *keeper, g *guest) error {
	session := k.session
	if a.lock == nil {
		held, err := a.store.Hold(ctx)
		if err != nil {
			return err
		}
		g.session, session = held, held
	}
	tx, err := session.BeginWork(ctx, store.TxOptions{Level: a.options.Level})
	if err == nil {
		if err = g.set(ctx, tx); err == nil {
			if a.lock != nil {
				k.guests = g.work
			}
			return nil
		}
		err = errors.Join(err, tx.Rollback())
	}
	g.release(false)
	return errors.Join(err, a.judge(k, err))
}

// release gives the transaction's own connection back, where it has one.
func (g *guest) release(clean bool) {
	if g.session != nil {
		endSession(g.session, clean)
		g.session = nil
	}
}

// Spoiled implements [Transactional].
func (a *Advisory) Spoiled(d *Delivery) error {
	k := d.held.keeper
	k.mu.Lock()
	defer k.mu.Unlock()
	return d.guest.spoiled
}

// End implements [Transactional]. The transaction has ended before the lock is released: the next holder of the
// key must find what it wrote. What is no ack is rolled back, and settled as without a transaction.
func (a *Advisory) End(ctx context.Context, s *Settlement) (Answer, bool) {
	d := s.Delivery
	k := d.held.keeper
	k.mu.Lock()
	answer, ended := a.endOwn(ctx, k, s)
	if ended && answer.State != RolledBack && k.kept[d] && a.unlockRow(ctx, k, &d.held) {
		delete(k.kept, d)
	}
	k.mu.Unlock()
	if ended && answer.State != RolledBack {
		a.giveBack(k)
	}
	return answer, ended
}

// endOwn ends the transaction of a delivery. The keeper is locked.
func (a *Advisory) endOwn(ctx context.Context, k *keeper, s *Settlement) (Answer, bool) {
	g := s.Delivery.guest
	work := g.work
	if work == nil {
		return Answer{}, false
	}
	defer func() { g.work = nil }()
	bounded, cancel := within(ctx, a.settleIn)
	defer cancel()
	var err error
	if s.Keep {
		if err = a.finishOwn(bounded, s); err == nil {
			err = work.CommitWith(bounded)
		}
		if err == nil {
			g.release(true)
			return Answer{}, true
		}
		err = fmt.Errorf("settle row %s of %s: %w", s.Delivery.ID, a.table, err)
		var before unsettled
		var uncommitted *store.Uncommitted
		if a.store.Failure(err) == store.Unanswered && !errors.As(err, &before) && !errors.As(err, &uncommitted) {
			g.release(false)
			a.retire(k, err)
			return Answer{State: Unknown, Err: err}, true
		}
	}
	rollback := work.Rollback()
	g.release(rollback == nil)
	if rollback != nil && a.lock != nil {
		a.retire(k, errors.Join(err, rollback))
	}
	if s.Keep {
		return Answer{State: RolledBack, Err: err}, true
	}
	return Answer{}, false
}

// finishOwn runs the settlement of an ack in the delivery's transaction.
func (a *Advisory) finishOwn(ctx context.Context, s *Settlement) error {
	g := s.Delivery.guest
	if err := g.keep(ctx, a.rules); err != nil {
		return unsettled{err}
	}
	b := &bind{source: &a.source, now: a.options.Now(), one: s}
	for i := range a.change[s.Change] {
		statement := &a.change[s.Change][i]
		n, err := g.work.Exec(ctx, statement, 0, b.arguments(statement, 0))
		if err != nil {
			return unsettled{err}
		}
		if n == 0 {
			return unsettled{errors.New("the row is gone")}
		}
	}
	return nil
}

// washKeeper makes a session that guests have used as good as new, once it holds no lock: what clears a
// session clears its locks too. The keeper is locked.
func (a *Advisory) washKeeper(k *keeper) {
	if k.guests == nil || k.lost != nil || len(k.kept) > 0 {
		return
	}
	ctx, cancel := within(context.Background(), washIn)
	defer cancel()
	err := k.guests.Wash(ctx)
	k.guests = nil
	if err == nil {
		err = a.prepare(ctx, k)
	}
	if err != nil {
		a.retire(k, fmt.Errorf("a session could not be cleared of what a guest left: %w", err))
	}
}

// Opens implements [Transactional]: the session that holds the key has been counted.
func (a *Advisory) Opens() bool { return false }
