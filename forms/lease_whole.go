package forms

import (
	"context"
	"errors"
	"fmt"

	"github.com/inbox-wasm/inbox-wasm/dialect/store"
)

// alike is what the rows have in common that one statement changes as a whole: what is done to them, and the token.
type alike struct {
	change Change
	token  string
	count  int64
}

// wholes changes the rows of a group by a statement for those of each claim, and gives the indexes of the rows that are
// still to be changed: those that are few, and those of a claim of which none was changed.
func (l *Lease) wholes(ctx context.Context, rows []*Settlement, indexes []int, w work, answers []Answer) (rest []int) {
	parts := map[alike][]int{}
	for _, index := range indexes {
		row := rows[index]
		key := alike{row.Change, row.Delivery.token, row.Delivery.count}
		parts[key] = append(parts[key], index)
	}
	for key, part := range parts {
		if l.change[key.change].Whole == nil || len(part) < directGroup {
			rest = append(rest, part...)
			continue
		}
		members := make([]*Settlement, len(part))
		for i, index := range part {
			members[i] = rows[index]
		}
		done, err := w.whole(ctx, members)
		if err != nil && l.store.Failure(err) == store.Unanswered {
			for _, index := range part {
				answers[index] = Answer{State: Unknown, Err: fmt.Errorf("%s rows of %s: %w", w.doing, l.table, err)}
			}
		} else if !done {
			rest = append(rest, part...)
		}
	}
	return rest
}

// settleWhole settles rows that are alike, all of them or none. An answer that is neither is none: it counts as not
// answered.
func (l *Lease) settleWhole(ctx context.Context, rows []*Settlement) (bool, error) {
	h := &l.change[rows[0].Change]
	whole := step(h.Whole, &bind{source: &l.source, now: l.options.Now(), one: rows[0], rows: rows})
	if h.Partial {
		return l.settleOrUndo(ctx, whole, len(rows))
	}
	changed, err := l.store.Exec(ctx, whole.Statement, whole.N, whole.Args)
	if err != nil || changed == 0 {
		return false, err
	}
	if changed != int64(len(rows)) {
		return false, fmt.Errorf("%d rows were changed, which is neither none nor all %d", changed, len(rows))
	}
	return true, nil
}

// settleOrUndo settles rows that are alike in a transaction, which it rolls back where one of them was lost.
func (l *Lease) settleOrUndo(ctx context.Context, whole store.Step, rows int) (bool, error) {
	tx, err := l.store.Begin(ctx)
	if err != nil {
		return false, err
	}
	changed, err := tx.Exec(ctx, whole.Statement, whole.N, whole.Args)
	if err != nil || changed != int64(rows) {
		if undone := tx.Rollback(); undone != nil {
			return false, errors.Join(err, undone)
		}
		return false, nil // the rows are as they were, and each has an answer of its own
	}
	return true, tx.Commit(ctx)
}
