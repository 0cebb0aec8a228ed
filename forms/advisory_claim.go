package forms

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
)

const (
	// claimRounds bounds how often one claim looks for candidates, and spareCandidates is how many more than it needs it
	// looks for.
	claimRounds     = 8
	spareCandidates = 8
	// maxReach bounds how many rows a look reads for the next claims too, as long as nobody else takes them first.
	maxReach = 2000
	// refusedFor is how long a key is left alone whose lock is an error.
	refusedFor = 10 * time.Second
)

// Claim takes at most limit rows, one of each key, in claim order. It takes them from the window, and looks for more
// where that is not enough. A look starts from the first row and leaves out the keys that are held, those that were
// tried already and those in the window: so a key with many rows in front costs one look and not its number of rows, and
// no row of a key is taken before an earlier one that a look has seen.
func (a *Advisory) Claim(ctx context.Context, limit int, ahead bool) ([]*Delivery, error) {
	c := &advisoryClaim{form: a, limit: limit, ahead: ahead, tried: map[string]bool{}}
	defer c.end()
	if a.options.Rescan > 0 {
		a.window.age(a.options.Now().Add(-a.options.Rescan))
	}
	for looks, more := 0, true; ; {
		if picks := a.window.pick(limit-len(c.deliveries), ahead); len(picks) > 0 {
			if !c.try(ctx, picks) {
				break
			}
			continue
		}
		none := len(c.deliveries) == 0
		if !more || looks == claimRounds || !none && !a.window.looks(time.Now()) || !a.window.room(none) {
			break
		}
		more = c.look(ctx, max(limit-len(c.deliveries)+spareCandidates, a.reach))
		looks++
	}
	if len(c.deliveries) == 0 && c.err != nil {
		return nil, fmt.Errorf("claim from %s: %w", a.table, c.err)
	}
	return c.deliveries, nil
}

// look reads rows into the window, and reports whether there may be more of them.
func (c *advisoryClaim) look(ctx context.Context, ask int) bool {
	a, began := c.form, time.Now()
	found, err := a.candidates(ctx, ask, c.tried)
	if err != nil {
		c.err = errors.Join(c.err, err)
		return false
	}
	end := time.Now()
	a.window.looked(end, end.Sub(began), len(found) == ask)
	a.window.add(a.options.Now(), found)
	return len(found) == ask
}

// candidates reads rows that may be taken. They are read on a connection of the pool, so that no
// settlement waits for a long search.
func (a *Advisory) candidates(ctx context.Context, ask int, tried map[string]bool) ([]candidate, error) {
	s, names := &a.claim, map[string]bool{}
	for name := range tried {
		names[name] = true
	}
	now := a.options.Now()
	a.resting.collect(now, names)
	a.window.names(names)
	if !a.own {
		a.locks.names(a.place, names)
	}
	b := &bind{source: &a.source, now: now, limit: ask}
	args, n := b.candidateArguments(s, names)
	bounded, cancel := context.WithTimeout(ctx, candidatesIn)
	defer cancel()
	var found []candidate
	err := a.persist(func() error {
		found = found[:0]
		return a.store.Query(bounded, s, n, args, a.candidate(s, &found))
	})
	return found, err
}

// candidate adds a row of an answer to those that were found.
func (a *Advisory) candidate(s *dialect.Statement, found *[]candidate) func([][]byte) error {
	return func(v [][]byte) error {
		c := candidate{id: make(ID, len(a.columns))}
		for i, output := range s.Returns {
			switch output.Field {
			case dialect.FieldID:
				c.id[output.Part] = idPart(a.columns[output.Part].Kind, v[i])
			case dialect.FieldLock:
				c.lock.key = string(v[i])
			case dialect.FieldName:
				c.lock.name = string(v[i])
			case dialect.FieldAttempt:
				attempt, err := strconv.ParseInt(string(v[i]), 10, 64)
				if err != nil {
					return fmt.Errorf("the attempt of row %s: %w", c.id, err)
				}
				c.last = a.atCap(attempt)
			}
		}
		*found = append(*found, c)
		return nil
	}
}

// atCap reports whether a row's next delivery is its last.
func (a *Advisory) atCap(attempt int64) bool {
	return a.options.MaxAttempts > 0 && attempt >= a.options.MaxAttempts
}

// candidateArguments are those of a statement that leaves out locks by their names, as an array or as a
// list, and the list's length. No lock has the empty name.
func (b *bind) candidateArguments(s *dialect.Statement, names map[string]bool) (args []any, n int) {
	sorted := make([]any, 0, len(names)+1)
	for name := range names {
		sorted = append(sorted, name)
	}
	slices.SortFunc(sorted, func(x, y any) int { return compareText(dialect.Text, x.(string), y.(string)) })
	b.names = sorted
	args = b.arguments(&dialect.Statement{Params: s.Params}, 0)
	if !s.IsList() {
		return args, 0
	}
	if len(sorted) == 0 {
		sorted = append(sorted, "")
	}
	n = listLength(len(sorted))
	for len(sorted) < n {
		sorted = append(sorted, sorted[0])
	}
	return slices.Insert(args, len(args)-s.Behind, sorted...), n
}

// advisoryClaim is one claim.
type advisoryClaim struct {
	form       *Advisory
	limit      int
	ahead      bool
	tried      map[string]bool
	keeper     *keeper // in hand
	deliveries []*Delivery
	err        error
}

// try locks and takes rows of the window, and reports whether more are wanted.
func (c *advisoryClaim) try(ctx context.Context, picks []candidate) bool {
	for len(picks) > 0 {
		err := ctx.Err()
		c.err = errors.Join(c.err, err)
		if err != nil || !c.equip(ctx) {
			for i := range picks {
				c.form.window.comeBack(picks[i])
			}
			return false
		}
		n := c.form.takes(c.keeper, len(picks))
		deliveries, err := c.form.takeRows(ctx, c.keeper, picks[:n], c.ahead, c.tried)
		// One row's own error passes over it; that of the session ends the claim.
		c.err = errors.Join(c.err, err)
		c.deliveries = append(c.deliveries, deliveries...)
		picks = picks[n:]
		if !c.still() {
			for i := range picks {
				c.form.window.comeBack(picks[i])
			}
			return false
		}
	}
	return len(c.deliveries) < c.limit
}

// equip sees that there is a session in hand that can keep one more delivery.
func (c *advisoryClaim) equip(ctx context.Context) bool {
	most := c.form.most()
	if c.keeper != nil && c.form.apart && c.keeper.load() > 0 {
		c.keeper = nil
	}
	if c.keeper == nil {
		var err error
		if c.keeper, err = c.form.keeper(ctx); err != nil {
			if len(c.deliveries) == 0 || c.form.store.Failure(err) != store.Unsent {
				c.err = errors.Join(c.err, err)
			}
			return false
		}
	}
	return c.keeper != nil && c.keeper.load() < most
}

// still reports whether the session in hand lives. Where it does not, what it kept is lost.
func (c *advisoryClaim) still() bool {
	c.keeper.mu.Lock()
	defer c.keeper.mu.Unlock()
	if c.keeper.lost == nil {
		return true
	}
	c.deliveries = slices.DeleteFunc(c.deliveries, func(d *Delivery) bool { return d.held.keeper == c.keeper })
	return false
}

// end gives the session in hand back.
func (c *advisoryClaim) end() {
	if c.keeper != nil {
		c.form.giveBack(c.keeper)
	}
}

// most is how many deliveries a session keeps.
func (a *Advisory) most() int {
	if a.apart {
		return 1
	}
	return maxKeys
}

// takes is how many of n rows a session takes at once.
func (a *Advisory) takes(k *keeper, n int) int {
	if k.sequencer == nil {
		return 1
	}
	return min(n, a.most()-k.load())
}

// takeRows locks rows' keys and takes the rows while they are claimable. The locks of the others are released at once,
// and the keys that are held are left alone during this claim.
func (a *Advisory) takeRows(ctx context.Context, k *keeper, picks []candidate, ahead bool, tried map[string]bool) ([]*Delivery, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	var deliveries []*Delivery
	var err error
	if k.sequencer != nil {
		deliveries, err = a.takeMany(ctx, k, picks, ahead)
	} else {
		take := a.take
		if ahead {
			take = a.takeAhead
		}
		var d *Delivery
		if d, err = a.takeRow(ctx, k, &picks[0], take); d != nil {
			deliveries = []*Delivery{d}
		}
	}
	for _, d := range deliveries {
		if a.rules != nil {
			d.guest = &guest{}
		}
		k.kept[d] = true
	}
	if len(deliveries) == len(picks) {
		a.reach = min(2*max(a.reach, len(picks)), maxReach)
	} else {
		a.reach = 0
	}
	for i := range picks {
		switch l := &picks[i].lock; l.state {
		case lockHeld:
		case lockFree:
			a.window.free(l.name)
		default:
			a.window.forget(l.name)
			tried[l.name] = true
		}
	}
	return deliveries, err
}

// takeRow takes one row; nil is one that could not be had.
func (a *Advisory) takeRow(ctx context.Context, k *keeper, c *candidate, take []dialect.Statement) (*Delivery, error) {
	if k.lost != nil {
		return nil, k.lost
	}
	c.lock.keeper = k
	locked, err := a.lockRow(ctx, k, &c.lock)
	if err != nil && k.lost == nil {
		// A key that the user's lock refuses is refused again.
		a.resting.add(c.lock.name, a.options.Now().Add(refusedFor))
	}
	if err != nil || !locked {
		return nil, err
	}
	d, err := a.readRow(ctx, k, c, take)
	if k.lost != nil {
		a.forget(&c.lock)
		return nil, errors.Join(err, k.lost)
	}
	if err != nil || d == nil {
		if a.unlockRow(ctx, k, &c.lock) {
			c.lock.state = lockFree
		}
		return nil, err
	}
	c.lock.state = lockHeld
	d.held = c.lock
	return d, nil
}

// readRow counts the attempt and reads the row; nil is a row that is gone or no longer claimable.
func (a *Advisory) readRow(ctx context.Context, k *keeper, c *candidate, take []dialect.Statement) (*Delivery, error) {
	bounded, cancel := within(ctx, a.settleIn)
	defer cancel()
	now := a.options.Now()
	b := &bind{source: &a.source, now: now, one: &Settlement{Delivery: &Delivery{ID: c.id}}}
	last := len(take) - 1
	for i := range last {
		var counted int64
		err := a.persist(func() (err error) {
			counted, err = k.session.Exec(bounded, &take[i], 0, b.arguments(&take[i], 0))
			return err
		})
		if err := a.judge(k, err); err != nil || counted == 0 {
			return nil, err
		}
	}
	var batch *claimed
	err := a.persist(func() error {
		batch = &claimed{source: &a.source, expires: now.Add(holdFor)}
		return k.session.Query(bounded, &take[last], 0, b.arguments(&take[last], 0), batch.read(&take[last], a.table.Has(dialect.Attempt)))
	})
	if err := a.judge(k, err); err != nil || len(batch.rows) == 0 {
		return nil, err
	}
	return batch.rows[0].delivery, nil
}
