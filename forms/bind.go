package forms

import (
	"fmt"
	"time"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
)

// bind gives the arguments of a statement about the subscription as a whole, and of a list of rows.
// one is the settlement of a statement about a single row.
type bind struct {
	source *source
	now    time.Time
	expiry time.Time
	limit  int
	mark   position
	// group is the group of a FIFO claim, after the last one that was looked at.
	group, after string
	rows         []*Settlement
	one          *Settlement
	leftOut      []ID
	// names are the locks that a look for candidates leaves out.
	names []any
}

// arguments are the values of a statement's placeholders; those of a list follow where it has one,
// which is always after the others in the text.
func (b *bind) arguments(s *dialect.Statement, listed int) []any {
	args := make([]any, 0, len(s.Params)+listed*len(s.ItemParams))
	for _, p := range s.Params {
		args = append(args, b.value(p))
	}
	for i := range listed {
		// A list is filled up with its last row: a row named twice is changed once.
		row := b.rows[min(i, len(b.rows)-1)]
		for _, p := range s.ItemParams {
			args = append(args, b.rowValue(p.Name, p.Part, row))
		}
	}
	return args
}

// step is a statement about the rows of b, a list of them or arrays.
func step(s *dialect.Statement, b *bind) store.Step {
	n := 0
	if s.IsList() {
		n = listLength(len(b.rows))
	}
	return store.Step{Statement: s, N: n, Args: b.arguments(s, n)}
}

var arrays = map[dialect.ParamName]dialect.ParamName{
	dialect.IDs: dialect.ID, dialect.Tokens: dialect.Token, dialect.Counts: dialect.Count,
	dialect.Untils: dialect.Until, dialect.Restores: dialect.Restore, dialect.Reasons: dialect.Reason,
}

func (b *bind) value(p dialect.Param) any {
	o := &b.source.options
	switch p.Name {
	case dialect.Now:
		return b.source.store.Dialect().FormatTime(b.now, 6)
	case dialect.Expiry:
		return b.source.store.Dialect().FormatTime(b.expiry, b.source.table.Column(dialect.LockedUntil).Precision)
	case dialect.Limit:
		return int64(b.limit)
	case dialect.Size:
		return int64(len(b.rows))
	case dialect.MarkKey:
		return b.mark.key
	case dialect.MarkTime:
		return b.mark.retryAfter
	case dialect.GroupName:
		if b.group != "" {
			return b.group
		}
		return o.Group
	case dialect.LockNames:
		return b.names
	case dialect.After:
		return b.after
	case dialect.Page:
		return int64(b.limit)
	case dialect.Except:
		return o.Except[p.Part]
	case dialect.LeftOut:
		// A list is filled up with its last row.
		row := min(p.Part/len(b.source.columns), len(b.leftOut)-1)
		return b.leftOut[row][p.Part%len(b.source.columns)]
	case dialect.Cap:
		return o.MaxAttempts
	case dialect.Target:
		return o.DeadGroup
	case dialect.From:
		return b.source.table.Name
	}
	single, isArray := arrays[p.Name]
	if !isArray {
		return b.rowValue(p.Name, p.Part, b.one)
	}
	values := make([]any, len(b.rows))
	for i, row := range b.rows {
		if single == dialect.Token && i > 0 && row.Delivery.token == b.rows[i-1].Delivery.token {
			values[i] = values[i-1] // the rows of a claim share it, and another one costs an allocation
			continue
		}
		values[i] = b.rowValue(single, p.Part, row)
	}
	return values
}

// rowValue is a value of one row, nil for NULL.
func (b *bind) rowValue(name dialect.ParamName, part int, row *Settlement) any {
	d := row.Delivery
	switch name {
	case dialect.ID:
		return d.ID[part]
	case dialect.Token:
		return d.token
	case dialect.Count:
		return d.count
	case dialect.Until:
		if row.Until.IsZero() {
			return nil
		}
		role := dialect.RetryAfter
		if !b.source.table.Has(role) {
			role = dialect.LockedUntil
		}
		return b.source.store.Dialect().FormatTime(row.Until, b.source.table.Column(role).Precision)
	case dialect.Delay:
		if row.Until.IsZero() {
			return nil
		}
		return max(row.Until.Sub(b.now), 0).Microseconds()
	case dialect.Restore:
		switch {
		case row.Change == MoveToGroup || row.Change == MoveToTable:
			return d.Attempt
		case row.Uncount == b.source.countsLate:
			return nil
		case b.source.countsLate:
			return d.count
		default:
			return d.Attempt
		}
	case dialect.Reason:
		if row.Reason == "" {
			return nil
		}
		return clean(row.Reason)
	default:
		panic(fmt.Sprintf("a statement binds %q, which no row has", name))
	}
}
