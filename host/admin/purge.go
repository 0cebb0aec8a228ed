package admin

import (
	"context"
	"fmt"
	"time"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/forms"
)

// Purge says which rows are deleted.
type Purge struct {
	State State    // Processed or Dead
	Group *string  // nil is every group
	IDs   []string // keys, as [Row].ID; nil is all
	// OlderThan is the least age of the rows, since they were processed, or for dead letters since they were written; 0 is
	// every age.
	OlderThan time.Duration
}

// purge reads what is to be deleted.
func (a *Admin) purge(key string, p Purge) (*selection, []forms.ID, error) {
	if p.State != Processed && p.State != Dead {
		return nil, nil, mistake("rows that are %s or %s can be deleted, and no others", Processed, Dead)
	}
	declared, sel, err := a.selects(key, p.State, p.Group)
	if err != nil {
		return nil, nil, err
	}
	if p.State == Processed && !sel.table.Has(dialect.ProcessedAt) {
		return nil, nil, mistake("table %s keeps no rows that are processed: no column plays processed_at", key)
	}
	if p.OlderThan < 0 {
		return nil, nil, mistake("the age %v is negative", p.OlderThan)
	}
	if p.OlderThan > 0 {
		if p.State == Dead && !sel.table.Has(dialect.CreatedAt) {
			return nil, nil, mistake("nothing says how old the dead letters of %s are: name the column that plays created_at in [tables.%s]", key, declared.Key)
		}
		sel.Aged, sel.cutoff = true, a.now().Add(-p.OlderThan)
	}
	if p.IDs == nil {
		return sel, nil, nil
	}
	ids, err := keys(sel.table, p.IDs)
	return sel, ids, err
}

// PlanPurge counts what a purge would delete.
func (a *Admin) PlanPurge(ctx context.Context, table string, p Purge) (int64, error) {
	sel, ids, err := a.purge(table, p)
	if err != nil {
		return 0, err
	}
	return a.countAll(ctx, sel, ids)
}

// Purge deletes rows in transactions of bounded size and calls progress with the rows so far after each; what came before
// an error stays deleted. Rows that somebody has locked are passed over.
func (a *Admin) Purge(ctx context.Context, table string, p Purge, progress func(rows int64)) (int64, error) {
	sel, ids, err := a.purge(table, p)
	if err != nil {
		return 0, err
	}
	return a.changeAll(ctx, sel, ids, []dialect.Statement{a.dialect.Remove(sel.table)}, progress)
}

// Cancel finishes rows that wait, as a handler's drop does, and says how many. Rows in work, rows that somebody has
// locked, processed rows and dead letters stay as they are.
func (a *Admin) Cancel(ctx context.Context, table string, ids []string) (int64, error) {
	_, sel, err := a.selects(table, Due, nil)
	if err != nil {
		return 0, err
	}
	list, err := keys(sel.table, ids)
	if err != nil {
		return 0, err
	}
	var sum int64
	for _, state := range []State{Due, Delayed} {
		sel.State = state
		n, err := a.changeAll(ctx, sel, list, []dialect.Statement{a.dialect.Finish(sel.table)}, func(int64) {})
		sum += n
		if err != nil {
			return sum, err
		}
	}
	return sum, nil
}

// sweptRows is how many rows a transaction of a sweep deletes.
const sweptRows = 1000

// Sweep deletes at most a bounded number of the rows of a table that were processed before an instant, and says how
// many.
func (a *Admin) Sweep(ctx context.Context, table string, before time.Time) (n int64, err error) {
	_, sel, err := a.selects(table, Processed, nil)
	if err != nil {
		return 0, err
	}
	sel.cutoff, sel.limit = before, sweptRows
	statement := a.dialect.Sweep(sel.table)
	for range tries {
		if n, err = a.store.Exec(ctx, &statement, 0, a.arguments(&statement, sel)); err == nil || a.store.Failure(err) != store.Transient {
			break
		}
	}
	if err != nil {
		return 0, fmt.Errorf("delete processed rows of %s: %w", sel.table, err)
	}
	return n, nil
}
