package admin

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/forms"
)

const (
	// changeRows is how many rows a transaction changes.
	changeRows = 500
	// tries is how often a transaction is run that fails for a reason that passes, such as a deadlock.
	tries = 3
)

// count is how many rows there are of a selection.
func (a *Admin) count(ctx context.Context, sel *selection) (n int64, err error) {
	statement := a.dialect.Tally(sel.table, sel.Where)
	err = a.store.Query(ctx, &statement, 0, a.arguments(&statement, sel), func(v [][]byte) (err error) {
		n, err = strconv.ParseInt(string(v[0]), 10, 64)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("count rows of %s: %w", sel.table, err)
	}
	return n, nil
}

// countAll is count for the rows of the keys, all where there are none.
func (a *Admin) countAll(ctx context.Context, sel *selection, ids []forms.ID) (sum int64, err error) {
	if ids == nil {
		return a.count(ctx, sel)
	}
	for _, sel.id = range ids {
		sel.Key = true
		n, err := a.count(ctx, sel)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

// changeAll runs statements on the rows of a selection, of the keys where there are any, in transactions of bounded
// size. Rows that another session has locked are passed over. It changes no more rows than there were when it began, since
// what it makes of a row may come back.
func (a *Admin) changeAll(ctx context.Context, sel *selection, ids []forms.ID, statements []dialect.Statement, progress func(rows int64)) (changed int64, err error) {
	if ids == nil {
		most, err := a.count(ctx, sel)
		if err != nil {
			return 0, err
		}
		for changed < most {
			sel.limit = int(min(most-changed, changeRows))
			n, err := a.change(ctx, sel, statements)
			changed += n
			if err != nil || n == 0 {
				return changed, err
			}
			progress(changed)
		}
		return changed, nil
	}
	sel.limit = 1
	for _, sel.id = range ids {
		sel.Key = true
		n, err := a.change(ctx, sel, statements)
		changed += n
		if err != nil {
			return changed, err
		}
		progress(changed)
	}
	return changed, nil
}

// change runs statements on the first rows of a selection, each in its order on every row, in a transaction.
func (a *Admin) change(ctx context.Context, sel *selection, statements []dialect.Statement) (n int64, err error) {
	for range tries {
		if n, err = a.changeOnce(ctx, sel, statements); err == nil || a.store.Failure(err) != store.Transient {
			break
		}
	}
	if err != nil {
		return 0, fmt.Errorf("change rows of %s: %w", sel.table, err)
	}
	return n, nil
}

func (a *Admin) changeOnce(ctx context.Context, sel *selection, statements []dialect.Statement) (n int64, err error) {
	tx, err := a.store.Begin(ctx)
	if err != nil {
		return 0, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, tx.Rollback())
		}
	}()
	hold := a.dialect.Hold(sel.table, sel.Where)
	columns := sel.table.IDColumns()
	var held []forms.ID
	err = tx.Query(ctx, &hold, 0, a.arguments(&hold, sel), func(v [][]byte) error {
		held = append(held, forms.NewID(columns, v))
		return nil
	})
	if err != nil {
		return 0, err
	}
	if len(held) == 0 {
		return 0, tx.Rollback()
	}
	for i := range statements {
		rows := make([][]any, len(held))
		for j, id := range held {
			row := *sel
			row.id = id
			rows[j] = a.arguments(&statements[i], &row)
		}
		if err := tx.ExecEach(ctx, &statements[i], rows); err != nil {
			return 0, err
		}
	}
	if err := tx.Commit(ctx); err != nil {
		return 0, err
	}
	return int64(len(held)), nil
}
