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

const (
	// claimRounds bounds how often one claim looks for candidates.
	claimRounds = 8
	// refusedFor is how long a key is left alone whose lock is an error.
	refusedFor = 10 * time.Second
)

// candidate is a row that looked claimable when it was read.
type candidate struct {
	id   ID
	lock keyLock
}

// Claim takes at most limit rows, one of each key, in claim order. Each look starts from the first row
// and leaves out the keys that are held and those that were tried already: so a key with many rows in
// front costs one look and not its number of rows, and no row of a key is taken before an earlier one.
func (a *Advisory) Claim(ctx context.Context, limit int, ahead bool) ([]*Delivery, error) {
	statement, take := &a.claim, a.take
	if ahead {
		statement, take = &a.ahead, a.takeAhead
	}
	c := &advisoryClaim{form: a, take: take, limit: limit, tried: map[string]bool{}}
	defer c.end()
	for range claimRounds {
		ask := 2*(limit-len(c.deliveries)) + 8
		candidates, err := a.candidates(ctx, statement, ask, c.tried)
		if err != nil {
			c.err = errors.Join(c.err, err)
			break
		}
		if !c.try(ctx, candidates) || len(candidates) < ask {
			break
		}
	}
	if len(c.deliveries) == 0 && c.err != nil {
		return nil, fmt.Errorf("claim from %s: %w", a.table, c.err)
	}
	return c.deliveries, nil
}

// candidates reads rows that may be taken. They are read on a connection of the pool, so that no
// settlement waits for a long search.
func (a *Advisory) candidates(ctx context.Context, s *dialect.Statement, ask int, tried map[string]bool) ([]candidate, error) {
	names := map[string]bool{}
	for name := range tried {
		names[name] = true
	}
	now := a.options.Now()
	a.resting.collect(now, names)
	if !a.own {
		a.locks.names(a.store.Place(), names)
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
			}
		}
		*found = append(*found, c)
		return nil
	}
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
	take       []dialect.Statement
	limit      int
	tried      map[string]bool
	keeper     *keeper // in hand
	deliveries []*Delivery
	err        error
}

// try locks and takes candidates, and reports whether more are wanted.
func (c *advisoryClaim) try(ctx context.Context, candidates []candidate) bool {
	for i := range candidates {
		if len(c.deliveries) == c.limit {
			return false
		}
		if ctx.Err() != nil {
			c.err = errors.Join(c.err, ctx.Err())
			return false
		}
		candidate := &candidates[i]
		if c.tried[candidate.lock.name] {
			continue
		}
		c.tried[candidate.lock.name] = true
		if !c.equip(ctx) {
			return false
		}
		d, err := c.form.takeRow(ctx, c.keeper, candidate, c.take)
		if err != nil {
			// One row's own error passes over it; that of the session ends the claim.
			c.err = errors.Join(c.err, err)
		}
		if d != nil {
			c.deliveries = append(c.deliveries, d)
		}
		if !c.still() {
			return false
		}
	}
	return len(c.deliveries) < c.limit
}

// equip sees that there is a session in hand that can keep one more delivery.
func (c *advisoryClaim) equip(ctx context.Context) bool {
	most := maxKeys
	if c.form.apart {
		most = 1
	}
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

// takeRow locks a candidate's key and takes the row while it is claimable, or else releases the lock at
// once.
func (a *Advisory) takeRow(ctx context.Context, k *keeper, c *candidate, take []dialect.Statement) (*Delivery, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
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
		a.unlockRow(ctx, k, &c.lock)
		return nil, err
	}
	d.held = c.lock
	if a.rules != nil {
		d.guest = &guest{}
	}
	k.kept[d] = true
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
