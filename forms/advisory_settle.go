package forms

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
)

// Settle ends deliveries, each on the session that holds its lock. What is written is committed before the lock is
// released: the two in one transaction would let the next holder read the row as it was before. The lock is released
// whatever becomes of the statement.
func (a *Advisory) Settle(ctx context.Context, settlements []*Settlement) []Answer {
	answers := make([]Answer, len(settlements))
	groups := map[*keeper][]int{}
	for i, s := range settlements {
		k := s.Delivery.held.keeper
		groups[k] = append(groups[k], i)
	}
	for k, group := range groups {
		a.settleOn(ctx, k, settlements, group, answers)
	}
	return answers
}

// settleOn settles those of the settlements that a session holds.
func (a *Advisory) settleOn(ctx context.Context, k *keeper, settlements []*Settlement, group []int, answers []Answer) {
	k.mu.Lock()
	held := group[:0]
	for _, i := range group {
		if !k.kept[settlements[i].Delivery] {
			answers[i].State = Lost
			continue
		}
		held = append(held, i)
	}
	if k.sequencer != nil && len(held) > 0 {
		a.settleMany(ctx, k, settlements, held, answers)
	} else {
		for _, i := range held {
			s := settlements[i]
			if !k.kept[s.Delivery] { // the session was lost with the one before
				answers[i].State = Lost
				continue
			}
			answers[i] = a.apply(ctx, k, s)
			a.rest(s, answers[i])
			if k.kept[s.Delivery] && a.unlockRow(ctx, k, &s.Delivery.held) {
				delete(k.kept, s.Delivery)
				a.next(s, answers[i])
			}
		}
	}
	k.mu.Unlock()
	a.giveBack(k)
}

// next has the key of a settled row, which is free, lend its next one: the same row where that can be taken at once.
func (a *Advisory) next(s *Settlement, answer Answer) {
	d := s.Delivery
	switch now := a.options.Now(); {
	case a.resting.has(d.held.name, now):
		a.window.forget(d.held.name)
	case s.Change == Return && answer.State == Done && !s.Until.After(now):
		a.window.comeBack(a.again(d, s.Uncount))
	default:
		a.window.free(d.held.name)
	}
}

// again is the row of a delivery as one to be taken once more.
func (a *Advisory) again(d *Delivery, uncounted bool) candidate {
	attempt := d.count
	if uncounted {
		attempt = d.Attempt
	}
	c := candidate{id: d.ID, lock: keyLock{key: d.held.key, name: d.held.name, place: d.held.place}}
	c.last = a.table.Has(dialect.Attempt) && a.atCap(attempt)
	return c
}

// apply runs the change on the delivery's session. What passes by itself is tried again.
func (a *Advisory) apply(ctx context.Context, k *keeper, s *Settlement) Answer {
	statements := a.change[s.Change]
	if s.Change == Return && !a.changes(s) {
		return Answer{}
	}
	bounded, cancel := within(ctx, a.settleIn)
	defer cancel()
	b := &bind{source: &a.source, now: a.options.Now(), one: s}
	var changed bool
	var err error
	for range tries {
		changed, err = a.run(bounded, k, statements, b)
		failure := a.store.Failure(err)
		if err == nil || failure != store.Transient && failure != store.Refused {
			break
		}
		if failure == store.Refused {
			plain, differs := b.one.plain()
			if !differs {
				break
			}
			b.one = plain
		}
	}
	switch {
	case err == nil && changed:
		return Answer{}
	case err == nil:
		return Answer{State: Lost}
	}
	state := Failed
	if failure := a.store.Failure(err); failure == store.Unanswered {
		state = Unknown
	}
	return Answer{State: state, Err: fmt.Errorf("settle row %s of %s: %w", s.Delivery.ID, a.table, err)}
}

// rest leaves a key alone whose row is to wait and has no column that says so, or whose settlement was
// refused and would be again.
func (a *Advisory) rest(s *Settlement, answer Answer) {
	until := s.Until
	switch {
	case answer.State == Failed:
		backoff := time.Second
		if a.options.Backoff != nil {
			backoff = a.options.Backoff(s.Delivery)
		}
		until = a.options.Now().Add(backoff)
	case s.Change != Return || a.table.Has(dialect.RetryAfter):
		return
	}
	if until.After(a.options.Now()) {
		a.resting.add(s.Delivery.held.name, until)
	}
}

// changes reports whether a row that goes back is to be changed: a retry has nothing to say, since the
// claim has counted the attempt, and the released lock gives the row back.
func (a *Advisory) changes(s *Settlement) bool {
	later := s.Until.After(a.options.Now()) && a.table.Has(dialect.RetryAfter)
	restored := s.Uncount && a.table.Has(dialect.Attempt)
	explained := s.Reason != "" && a.table.Has(dialect.Error)
	return later || restored || explained
}

// run runs the statements of a change, several of them in one transaction, and reports whether the row
// was there to be changed.
func (a *Advisory) run(ctx context.Context, k *keeper, statements []dialect.Statement, b *bind) (changed bool, err error) {
	if len(statements) == 1 {
		n, err := k.session.Exec(ctx, &statements[0], 0, b.arguments(&statements[0], 0))
		return n > 0, a.judge(k, err)
	}
	tx, err := k.session.Begin(ctx)
	if err != nil {
		return false, a.judge(k, err)
	}
	for i := range statements {
		n, err := tx.Exec(ctx, &statements[i], 0, b.arguments(&statements[i], 0))
		if err != nil || n == 0 {
			return false, a.judge(k, errors.Join(err, tx.Rollback()))
		}
	}
	if err := tx.Commit(ctx); err != nil {
		return false, a.judge(k, fmt.Errorf("commit: %w", err))
	}
	return true, nil
}

// Extend finds out which sessions still live, and with them the deliveries' locks.
func (a *Advisory) Extend(ctx context.Context, deliveries []*Delivery) []Answer {
	answers := make([]Answer, len(deliveries))
	probed := map[*keeper]bool{}
	for i, d := range deliveries {
		answers[i].State = Lost
		k := d.held.keeper
		if a.rules == nil {
			k.mu.Lock()
		} else if !k.mu.TryLock() {
			// A statement of its guest is on its way: the loss of the session is the statement's too.
			answers[i].State = Done
			d.expires = a.options.Now().Add(holdFor)
			continue
		}
		if !probed[k] && k.kept[d] {
			probed[k] = true
			a.probe(ctx, k)
		}
		if k.kept[d] {
			answers[i].State = Done
			d.expires = a.options.Now().Add(holdFor)
		}
		k.mu.Unlock()
	}
	return answers
}

var _ Form = (*Advisory)(nil)
var _ Held = (*Advisory)(nil)
