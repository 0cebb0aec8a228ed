package forms

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
)

// fifo finds the groups whose head can be claimed.
type fifo struct {
	source                  *source
	firstGroups, nextGroups dialect.Statement
	lock, unlock            *dialect.Statement

	// resting are the groups whose head was given back at once.
	resting resting

	mu sync.Mutex
	// inWork are the groups that this process knows to have a row in work.
	inWork map[string]bool
	// cursor is the last group that was looked at: the next claim goes on behind it, so that every
	// group has its turn. first says that the next look starts from the beginning.
	cursor string
	first  bool
}

func newFIFO(s *source) (*fifo, error) {
	d, ok := s.store.Dialect().(dialect.Fifo)
	if !ok {
		return nil, fmt.Errorf("table %s: %s has no FIFO groups", s.table, s.store.Dialect().Name())
	}
	if column := s.table.Column(dialect.Group); column.Nullable {
		return nil, fmt.Errorf("table %s: fifo needs a group for every row, and column %q may be NULL: add NOT NULL to it", s.table, column.Name)
	}
	selection := s.options.selection()
	return &fifo{
		source:      s,
		firstGroups: d.FifoGroups(s.table, selection, true),
		nextGroups:  d.FifoGroups(s.table, selection, false),
		lock:        d.FifoLock(s.table),
		unlock:      d.FifoUnlock(s.table),
		inWork:      map[string]bool{},
		first:       true,
	}, nil
}

// statements lists those of the groups.
func (f *fifo) statements() []Named {
	list := []Named{{"groups", f.firstGroups}, {"next groups", f.nextGroups}}
	if f.lock != nil {
		list = append(list, Named{"lock group", *f.lock})
	}
	if f.unlock != nil {
		list = append(list, Named{"unlock group", *f.unlock})
	}
	return list
}

// groups lists at most limit groups whose head looks claimable.
func (f *fifo) groups(ctx context.Context, w writer, limit int) ([]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.source.options.AllGroups {
		if group := f.source.options.Group; f.free(group) {
			return []string{group}, nil
		}
		return nil, nil
	}
	const pages = 20 // bounds what one claim looks at
	page := max(4*limit, 64)
	var groups []string
	turned := false
	for range pages {
		statement := &f.nextGroups
		if f.first {
			statement = &f.firstGroups
		}
		b := &bind{source: f.source, now: f.source.options.Now(), after: f.cursor, limit: page}
		seen := 0
		err := w.Query(ctx, statement, 0, b.arguments(statement, 0), func(v [][]byte) error {
			seen++
			if len(groups) < limit {
				f.cursor, f.first = string(v[0]), false
				if string(v[1]) == "1" && f.free(f.cursor) {
					groups = append(groups, f.cursor)
				}
			}
			return nil
		})
		if err != nil || len(groups) == limit {
			return groups, err
		}
		if seen+len(f.source.options.Except) < page {
			if f.first = true; turned {
				break
			}
			turned = true
		}
	}
	return groups, nil
}

// free reports whether this process knows nothing against a claim of the group.
func (f *fifo) free(group string) bool {
	return !f.inWork[group] && !f.resting.has(group, f.source.options.Now())
}

// settled lets the groups rest whose heads are given back at once.
func (f *fifo) settled(rows []*Settlement) {
	for _, row := range rows {
		if row.Change == Return && row.Until.IsZero() && !row.Uncount && f.source.options.Rest > 0 {
			f.resting.add(row.Delivery.Group, f.source.options.Now().Add(f.source.options.Rest))
		}
	}
}

// claimHeads takes the heads of groups that have no row in work, at most limit of them. The lock of a
// group is held until the claim is committed, and each claim reads the group after it has the lock: so
// it sees what the last claim of the group took, and every row that was committed before.
func (l *Lease) claimHeads(ctx context.Context, limit int) (batch *claimed, err error) {
	f := l.fifo
	groups, err := f.groups(ctx, l.store, limit)
	if err != nil || len(groups) == 0 {
		return &claimed{}, err
	}
	session, err := l.store.Hold(ctx)
	if err != nil {
		return nil, err
	}
	batch, locked, err := l.claimLocked(ctx, session, groups)
	if f.unlock == nil {
		return batch, errors.Join(err, session.Release())
	}
	for _, group := range locked {
		b := &bind{source: &l.source, group: group}
		if unlockErr := session.Query(ctx, f.unlock, 0, b.arguments(f.unlock, 0), nothing); unlockErr != nil {
			// The session's end is the end of its locks. What was claimed is claimed.
			return batch, errors.Join(err, session.Close())
		}
	}
	return batch, errors.Join(err, session.Release())
}

// nothing takes an answer that does not matter.
func nothing([][]byte) error { return nil }

// claimLocked claims the heads of those groups whose lock is free, in one transaction. It names the
// groups that it has locked, whatever else happens.
func (l *Lease) claimLocked(ctx context.Context, session store.Session, groups []string) (batch *claimed, locked []string, err error) {
	tx, err := session.Begin(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, tx.Rollback()) }()
	b, batch := l.newClaim(len(groups))
	for _, group := range groups {
		b.group = group
		free, err := l.fifo.tryLock(ctx, tx, b)
		if err != nil {
			return nil, locked, err
		}
		if !free {
			continue
		}
		locked = append(locked, group)
		if err := l.take(ctx, tx, &l.head, b, batch); err != nil {
			return nil, locked, err
		}
	}
	if err := tx.Commit(ctx); err != nil {
		return nil, locked, fmt.Errorf("commit: %w", err)
	}
	return batch, locked, nil
}

// tryLock tries the lock of the group of b.
func (f *fifo) tryLock(ctx context.Context, w writer, b *bind) (free bool, err error) {
	if f.lock == nil {
		return true, nil
	}
	err = w.Query(ctx, f.lock, 0, b.arguments(f.lock, 0), one(&free))
	return free, err
}

// one reads whether a statement answered 1.
func one(answer *bool) func([][]byte) error {
	return func(v [][]byte) error {
		*answer = string(v[0]) == "1"
		return nil
	}
}

// begin marks a group as in work, and reports whether it was not.
func (f *fifo) begin(group string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.inWork[group] {
		return false
	}
	f.inWork[group] = true
	return true
}

// goOnBehind lets the next look start behind a group, where not all groups of the last one had their turn.
func (f *fifo) goOnBehind(group string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cursor, f.first = group, false
}

func (f *fifo) end(group string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.inWork, group)
}
