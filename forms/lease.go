package forms

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
)

// LeaseOptions say which rows a subscription takes under a lease, and for how long.
type LeaseOptions struct {
	// Table is described.
	Table *dialect.Table
	// Group is read unless AllGroups is set, which reads every group but those in Except.
	Group     string
	AllGroups bool
	Except    []string
	// Lease is how long a row is held without an extension: whole seconds, at least one.
	Lease time.Duration
	// MaxAttempts is 0 for no cap.
	MaxAttempts int64
	// DeadGroup or DeadTable is where dead letters go; neither means that none are made.
	DeadGroup string
	DeadTable *dialect.Table
	// Now is the host's clock.
	Now func() time.Time
}

// Lease holds rows by an expiry in the row. The expiry, with the attempt where the table counts
// attempts, is the token of one claim: whatever comes later takes effect only while the row still has
// exactly it.
//
// Claim may run beside the other methods. Extend and Settle belong to one goroutine, so that no two
// statements about one delivery are ever in flight together.
type Lease struct {
	store   store.Store
	dialect dialect.Lease
	options LeaseOptions

	table     *dialect.Table
	columns   []dialect.Column // of the key
	precision int              // of the lease column

	claim  dialect.LeaseClaim
	ahead  dialect.LeaseClaim
	extend dialect.Held
	change [changeCount]dialect.Held
	held   dialect.Statement
}

// NewLease builds the statements of a subscription. It fails where the dialect has no lease form.
func NewLease(s store.Store, o LeaseOptions) (*Lease, error) {
	d, ok := s.Dialect().(dialect.Lease)
	if !ok {
		return nil, fmt.Errorf("table %s: %s has no lease form", o.Table, s.Dialect().Name())
	}
	t := o.Table
	selection := dialect.Selection{AllGroups: o.AllGroups, Except: len(o.Except)}
	ahead := selection
	ahead.BelowCap = o.MaxAttempts > 0
	l := &Lease{
		store: s, dialect: d, options: o, table: t,
		columns:   t.IDColumns(),
		precision: t.Column(dialect.LockedUntil).Precision,
		claim:     d.LeaseClaim(t, selection),
		ahead:     d.LeaseClaim(t, ahead),
		extend:    d.LeaseExtend(t),
		held:      d.LeaseHeld(t),
	}
	l.change[Finish] = d.LeaseFinish(t)
	l.change[Return] = d.LeaseReturn(t)
	if o.DeadGroup != "" {
		l.change[MoveToGroup] = d.LeaseMoveToGroup(t)
	}
	if o.DeadTable != nil {
		l.change[MoveToTable] = d.LeaseMoveToTable(t, o.DeadTable)
	}
	return l, nil
}

// Named is a statement with the name of what it is for.
type Named struct {
	Name      string
	Statement dialect.Statement
}

// Statements lists every statement that the form runs, to be prepared at the start or shown.
func (l *Lease) Statements() []Named {
	var list []Named
	add := func(name string, s *dialect.Statement) {
		if s != nil {
			list = append(list, Named{name, *s})
		}
	}
	claim := func(name string, c *dialect.LeaseClaim) {
		add(name, &c.Take)
		add(name+": stamp", c.Stamp)
		add(name+": reread", c.Reread)
	}
	held := func(name string, h *dialect.Held) {
		add(name+": lock", h.Lock)
		add(name, h.Many)
		for i := range h.One {
			add(name, &h.One[i])
		}
		add(name+": reread", h.Reread)
	}
	claim("claim", &l.claim)
	if l.options.MaxAttempts > 0 {
		claim("claim ahead", &l.ahead)
	}
	held("extend", &l.extend)
	for change, name := range []string{"finish", "return", "move to group", "move to table"} {
		held(name, &l.change[change])
	}
	add("held", &l.held)
	return list
}

// expiry is the end of a lease that starts now. Its sub-second digits are random where the column
// keeps them, so that two claims of one row never write the same expiry, even when the clocks of
// their hosts differ.
func (l *Lease) expiry(now time.Time) time.Time {
	expiry := now.Add(l.options.Lease)
	if l.precision > 0 {
		expiry = expiry.Add(rand.N(time.Second))
	}
	return expiry
}

// bind gives the arguments of a statement about the subscription as a whole, and of a list of rows.
// one is the settlement of a statement about a single row.
type bind struct {
	lease  *Lease
	now    time.Time
	expiry time.Time
	limit  int
	rows   []*Settlement
	one    *Settlement
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

var arrays = map[dialect.ParamName]dialect.ParamName{
	dialect.IDs: dialect.ID, dialect.Tokens: dialect.Token, dialect.Counts: dialect.Count,
	dialect.Untils: dialect.Until, dialect.Restores: dialect.Restore, dialect.Reasons: dialect.Reason,
}

func (b *bind) value(p dialect.Param) any {
	o := &b.lease.options
	switch p.Name {
	case dialect.Now:
		return b.lease.dialect.FormatTime(b.now, 6)
	case dialect.Expiry:
		return b.lease.dialect.FormatTime(b.expiry, b.lease.precision)
	case dialect.Limit:
		return int64(b.limit)
	case dialect.GroupName:
		return o.Group
	case dialect.Except:
		return o.Except[p.Part]
	case dialect.Cap:
		return o.MaxAttempts
	case dialect.Target:
		return o.DeadGroup
	case dialect.From:
		return b.lease.table.Name
	}
	single, isArray := arrays[p.Name]
	if !isArray {
		return b.rowValue(p.Name, p.Part, b.one)
	}
	values := make([]any, len(b.rows))
	for i, row := range b.rows {
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
		if !b.lease.table.Has(role) {
			role = dialect.LockedUntil
		}
		return b.lease.dialect.FormatTime(row.Until, b.lease.table.Column(role).Precision)
	case dialect.Restore:
		if !row.Uncount && row.Change != MoveToGroup && row.Change != MoveToTable {
			return nil
		}
		return d.Attempt
	case dialect.Reason:
		if row.Reason == "" {
			return nil
		}
		return clean(row.Reason)
	default:
		panic(fmt.Sprintf("a statement binds %q, which no row has", name))
	}
}
