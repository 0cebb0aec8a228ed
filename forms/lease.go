package forms

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
)

// Lease holds rows by an expiry in the row. The expiry, with the attempt where the table counts
// attempts, is the token of one claim: whatever comes later takes effect only while the row still has
// exactly it.
//
// Claim may run beside the other methods. Extend and Settle belong to one goroutine, so that no two
// statements about one delivery are ever in flight together.
type Lease struct {
	source
	dialect dialect.Lease

	claim     claims
	ahead     claims
	mark      mark
	extension dialect.Held
	change    [changeCount]dialect.Held
	held      dialect.Statement
	// pipeline settles in one round trip where the database can, from careful on: after it has waited for a
	// lock, it is left alone for a while.
	pipeline store.Pipeliner
	careful  time.Time
	// rules are set where deliveries have transactions, and lockRow locks the row of one.
	rules   *guestRules
	lockRow *dialect.Statement
	// fifo is set for a table whose groups keep their order, and head claims the head of a group.
	fifo *fifo
	head dialect.LeaseClaim
}

// claims take rows wherever they are, or from a mark on.
type claims struct{ all, marked dialect.LeaseClaim }

func newClaims(d dialect.Lease, t *dialect.Table, s dialect.Selection) claims {
	c := claims{all: d.LeaseClaim(t, s)}
	if t.Markable() {
		s.Marked = true
		c.marked = d.LeaseClaim(t, s)
	}
	return c
}

// NewLease builds the statements of a subscription. It fails where the dialect has no lease form.
func NewLease(s store.Store, o Options) (*Lease, error) {
	d, ok := s.Dialect().(dialect.Lease)
	if !ok {
		return nil, fmt.Errorf("table %s: %s has no lease form", o.Table, s.Dialect().Name())
	}
	t := o.Table
	selection := o.selection()
	ahead := selection
	ahead.BelowCap = o.MaxAttempts > 0
	l := &Lease{
		source:    newSource(s, o),
		dialect:   d,
		claim:     newClaims(d, t, selection),
		ahead:     newClaims(d, t, ahead),
		extension: d.LeaseExtend(t),
		held:      d.LeaseHeld(t),
	}
	l.pipeline, _ = s.(store.Pipeliner)
	if t.Markable() && !o.FIFO {
		l.mark.every = o.Rescan
	}
	if err := l.transactional(); err != nil {
		return nil, err
	}
	l.change[Finish] = d.LeaseFinish(t)
	l.change[Return] = d.LeaseReturn(t)
	if o.DeadGroup != "" {
		l.change[MoveToGroup] = d.LeaseMoveToGroup(t)
	}
	if o.DeadTable != nil {
		l.change[MoveToTable] = d.LeaseMoveToTable(t, o.DeadTable)
	}
	if o.FIFO {
		var err error
		if l.fifo, err = newFIFO(&l.source); err != nil {
			return nil, err
		}
		fifo, ok := d.(dialect.FifoLease)
		if !ok {
			return nil, fmt.Errorf("table %s: %s has no FIFO groups in the lease form", t, d.Name())
		}
		l.head = fifo.LeaseHead(t)
	}
	return l, nil
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
		add(name+": direct", h.Direct)
		add(name+": whole", h.Whole)
		for i := range h.One {
			add(name, &h.One[i])
		}
		add(name+": reread", h.Reread)
	}
	both := func(name string, c *claims) {
		claim(name, &c.all)
		if l.mark.every > 0 {
			claim(name+" from a mark", &c.marked)
		}
	}
	both("claim", &l.claim)
	if l.options.MaxAttempts > 0 {
		both("claim ahead", &l.ahead)
	}
	held("extend", &l.extension)
	for change, name := range []string{"finish", "return", "move to group", "move to table"} {
		held(name, &l.change[change])
	}
	add("held", &l.held)
	add("lock for a transaction", l.lockRow)
	if l.fifo != nil {
		list = append(list, l.fifo.statements()...)
		claim("claim head", &l.head)
	}
	return list
}

// expiry is the end of a lease that starts now. Its sub-second digits are random where the column
// keeps them, so that two claims of one row never write the same expiry, even when the clocks of
// their hosts differ.
func (l *Lease) expiry(now time.Time) time.Time {
	expiry := now.Add(l.options.Lease)
	if l.table.Column(dialect.LockedUntil).Precision > 0 {
		expiry = expiry.Add(rand.N(time.Second))
	}
	return expiry
}
