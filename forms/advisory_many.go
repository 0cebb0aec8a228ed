package forms

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
)

// advisoryGroups are the statements by which a session takes and finishes many rows at once.
type advisoryGroups struct {
	lock, unlock, finish dialect.Statement
	take, takeAhead      dialect.Statement
}

func newAdvisoryGroups(d dialect.AdvisoryMany, t *dialect.Table, o Options) *advisoryGroups {
	ahead := o.selection()
	ahead.BelowCap = o.MaxAttempts > 0
	return &advisoryGroups{
		lock: d.LockMany(), unlock: d.UnlockMany(), finish: d.FinishEach(t),
		take: d.TakeMany(t, o.selection()), takeAhead: d.TakeMany(t, ahead),
	}
}

// takeMany locks rows' keys and takes the rows in one round trip. Where the statement that takes them is refused, one of
// them may be the cause, and each is taken alone. The keeper is locked.
func (a *Advisory) takeMany(ctx context.Context, k *keeper, picks []candidate, ahead bool) (deliveries []*Delivery, err error) {
	listed := make([]*candidate, 0, len(picks))
	for i := range picks {
		if l := &picks[i].lock; a.locks.take(a.place, l.name) {
			l.keeper, l.listed = k, true
			listed = append(listed, &picks[i])
		}
	}
	for range tries {
		if len(listed) == 0 || k.lost != nil {
			break
		}
		deliveries, err = a.takeListed(ctx, k, listed, ahead)
		if err == nil {
			return deliveries, nil
		}
		a.unlockListed(ctx, k, listed)
		if a.store.Failure(err) != store.Transient {
			break
		}
	}
	alone := err != nil && k.lost == nil && a.store.Failure(err) == store.Refused
	for _, c := range listed {
		a.forget(&c.lock)
	}
	if !alone {
		return nil, errors.Join(err, k.lost)
	}
	take, errs := a.take, []error(nil)
	if ahead {
		take = a.takeAhead
	}
	for _, c := range listed {
		d, err := a.takeRow(ctx, k, c, take)
		errs = append(errs, err)
		if d != nil {
			deliveries = append(deliveries, d)
		}
	}
	return deliveries, errors.Join(errs...)
}

// takeListed takes rows whose names the registry has, and releases the locks of those that could not be had.
func (a *Advisory) takeListed(ctx context.Context, k *keeper, listed []*candidate, ahead bool) ([]*Delivery, error) {
	bounded, cancel := within(ctx, a.settleIn)
	defer cancel()
	now := a.options.Now()
	b := a.named(listed)
	b.now = now
	take := &a.groups.take
	if ahead {
		take = &a.groups.takeAhead
	}
	var locked string
	batch := &claimed{source: &a.source, expires: now.Add(holdFor)}
	_, err := k.sequencer.Sequence(bounded, 0, []store.Step{
		{Statement: &a.groups.lock, Args: b.arguments(&a.groups.lock, 0), Row: text(&locked)},
		{Statement: take, Args: b.arguments(take, 0), Row: batch.read(take, a.table.Has(dialect.Attempt))},
	})
	if err := a.judge(k, err); err != nil {
		return nil, err
	}
	rows := make(map[string]*Delivery, len(batch.rows))
	for _, row := range batch.rows {
		rows[row.delivery.ID.mapKey()] = row.delivery
	}
	deliveries := make([]*Delivery, 0, len(batch.rows))
	var gone []*candidate
	for i, c := range listed {
		if locked[i] != '1' {
			a.forget(&c.lock)
			continue
		}
		d := rows[c.id.mapKey()]
		if d == nil {
			gone = append(gone, c)
			continue
		}
		c.lock.state = lockHeld
		d.held = c.lock
		deliveries = append(deliveries, d)
	}
	if len(gone) > 0 && a.unlockListed(ctx, k, gone) {
		for _, c := range gone {
			a.forget(&c.lock)
			c.lock.state = lockFree
		}
	}
	if k.lost != nil { // and with it what was taken
		for _, c := range listed {
			a.forget(&c.lock)
			c.lock.state = lockElsewhere
		}
		return nil, k.lost
	}
	return deliveries, nil
}

// unlockListed releases the locks of rows that were not taken, some of which the session may not hold. Where the
// database does not confirm it, the session is retired.
func (a *Advisory) unlockListed(ctx context.Context, k *keeper, rows []*candidate) bool {
	if k.lost != nil {
		return false
	}
	bounded, cancel := within(ctx, answerIn)
	defer cancel()
	b := a.named(rows)
	err := k.session.Query(bounded, &a.groups.unlock, 0, b.arguments(&a.groups.unlock, 0), nothing)
	if err != nil {
		a.retire(k, fmt.Errorf("the database did not confirm that locks were released: %w", err))
		return false
	}
	k.used = time.Now()
	return true
}

// named binds rows with the names of their locks.
func (a *Advisory) named(rows []*candidate) *bind {
	b := &bind{source: &a.source, names: make([]any, len(rows)), rows: make([]*Settlement, len(rows))}
	settlements := make([]Settlement, len(rows))
	deliveries := make([]Delivery, len(rows))
	for i, c := range rows {
		b.names[i] = c.lock.name
		deliveries[i].ID = c.id
		settlements[i].Delivery = &deliveries[i]
		b.rows[i] = &settlements[i]
	}
	return b
}

// text reads an answer of one value.
func text(into *string) func([][]byte) error {
	return func(v [][]byte) error {
		*into = string(v[0])
		return nil
	}
}

// settleMany settles deliveries of one session and releases their locks: those that are finished with one statement,
// which is committed before the locks are released in the same round trip. Those that it failed for are settled one by
// one, and so are all others. The keeper is locked.
func (a *Advisory) settleMany(ctx context.Context, k *keeper, settlements []*Settlement, held []int, answers []Answer) {
	var finished []int
	rest := make([]int, 0, len(held))
	for _, i := range held {
		if settlements[i].Change == Finish {
			finished = append(finished, i)
			continue
		}
		answers[i] = a.apply(ctx, k, settlements[i])
		rest = append(rest, i)
	}
	if len(finished) > 0 && k.lost == nil {
		if a.finishMany(ctx, k, settlements, finished, rest, answers) {
			return
		}
		for _, i := range finished {
			if k.lost == nil {
				answers[i] = a.apply(ctx, k, settlements[i])
			}
		}
		rest = append(rest, finished...)
	}
	a.unlockSettled(ctx, k, settlements, rest, answers)
}

// finishMany finishes rows in one statement, and releases their locks and those of others that are settled already. It
// reports whether that is done, or the session is lost; otherwise nothing is.
func (a *Advisory) finishMany(ctx context.Context, k *keeper, settlements []*Settlement, finished, others []int, answers []Answer) bool {
	bounded, cancel := within(ctx, a.settleIn)
	defer cancel()
	b := &bind{source: &a.source, now: a.options.Now(), rows: make([]*Settlement, len(finished))}
	for i, index := range finished {
		b.rows[i] = settlements[index]
		answers[index].State = Lost // until the row answers
	}
	all := append(append([]int{}, finished...), others...)
	unlock, released := a.heldNames(settlements, all), ""
	committed, err := k.sequencer.Sequence(bounded, lockTimeout,
		[]store.Step{{Statement: &a.groups.finish, Args: b.arguments(&a.groups.finish, 0), Row: func(v [][]byte) error {
			n, err := strconv.Atoi(string(v[0]))
			if err == nil {
				answers[finished[n-1]].State = Done
			}
			return err
		}}},
		store.Step{Statement: &a.groups.unlock, Args: unlock.arguments(&a.groups.unlock, 0), Row: text(&released)})
	switch err := a.judge(k, err); {
	case committed:
		a.released(k, settlements, all, answers, released, err)
	case err == nil || k.lost == nil:
		return false
	default:
		for _, i := range finished {
			answers[i] = Answer{State: Unknown, Err: fmt.Errorf("settle row %s of %s: %w", settlements[i].Delivery.ID, a.table, err)}
		}
	}
	return true
}

// unlockSettled releases the locks of settled deliveries.
func (a *Advisory) unlockSettled(ctx context.Context, k *keeper, settlements []*Settlement, all []int, answers []Answer) {
	if len(all) == 0 || k.lost != nil {
		return
	}
	bounded, cancel := within(ctx, answerIn)
	defer cancel()
	unlock, released := a.heldNames(settlements, all), ""
	err := k.session.Query(bounded, &a.groups.unlock, 0, unlock.arguments(&a.groups.unlock, 0), text(&released))
	a.released(k, settlements, all, answers, released, a.judge(k, err))
}

// released ends the deliveries whose locks the database says it has released, and retires the session where it does not
// say so of all.
func (a *Advisory) released(k *keeper, settlements []*Settlement, all []int, answers []Answer, flags string, err error) {
	for n, i := range all {
		s := settlements[i]
		a.rest(s, answers[i])
		if n >= len(flags) || flags[n] != '1' {
			a.retire(k, errors.Join(fmt.Errorf("the database did not confirm that the lock %q was released", s.Delivery.held.key), err))
			continue
		}
		delete(k.kept, s.Delivery)
		a.forget(&s.Delivery.held)
		a.next(s, answers[i])
	}
}

// heldNames binds the names of deliveries' locks.
func (a *Advisory) heldNames(settlements []*Settlement, all []int) *bind {
	b := &bind{source: &a.source, names: make([]any, len(all))}
	for n, i := range all {
		b.names[n] = settlements[i].Delivery.held.name
	}
	return b
}
