package forms

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
)

// RowLock holds rows by the locks of a transaction, which stays open while they are handled and which
// their settlement commits: a row and its outcome change together, and the rows of a process that has
// crashed are back at once. The deliveries of one claim share a transaction and a connection.
//
// All of its methods may run beside each other. Settle takes the deliveries of a claim together; those
// that it is not given go back as they are.
type RowLock struct {
	source
	level   dialect.Level
	dialect dialect.RowLock
	rules   *guestRules // set where deliveries carry what their guests write
	change  [changeCount][]dialect.Statement
	// finishMany is nil where the database finishes one row at a time.
	finishMany *dialect.Statement

	mu     sync.Mutex
	claims map[rowLockClaim]*dialect.Statement

	leftOut leftOut
	// fifo is set for a table whose groups keep their order, and head claims the head of a group.
	fifo *fifo
	head dialect.Statement
	// alone is how many of the next claims take one row, after a claim of several was rolled back.
	alone atomic.Int64
}

// hold is the transaction of one claim. Its lock keeps the probe, the guest and the settlement apart, which
// share the connection.
type hold struct {
	mu      lock
	session store.Session
	tx      store.Work
	// guest is what the guest of the claim's one delivery writes in the transaction, nil where the form
	// carries nothing of guests.
	guest *guest
	rows  int
	ended bool
	// release ends what the hold has beside the transaction, and reports whether it is sure of it.
	release func() bool
}

// NewRowLock builds the statements of a subscription. It fails where the database has no row locks, or
// does not keep the isolation level.
func NewRowLock(s store.Store, o Options) (*RowLock, error) {
	d, ok := s.Dialect().(dialect.RowLock)
	if !ok {
		return nil, fmt.Errorf("table %s: %s has no row locks; the table can take the lease form (locked_until) or the advisory form (advisory_lock)",
			o.Table, s.Dialect().Name())
	}
	if o.Level == "" {
		o.Level = dialect.ReadCommitted
	}
	if kept, levels := dialect.Keeps(d, o.Level); !kept {
		return nil, fmt.Errorf("table %s: %s does not keep the isolation level %q; it keeps %s", o.Table, d.Name(), o.Level, list(levels))
	}
	r := &RowLock{source: newSource(s, o), level: o.Level, dialect: d, claims: map[rowLockClaim]*dialect.Statement{}}
	var err error
	if r.rules, err = guestsOf(s, &r.options); err != nil {
		return nil, err
	}
	r.countsLate = true
	r.leftOut.rows = map[string]leftRow{}
	t := o.Table
	r.change[Finish] = some(d.Finish(t))
	r.change[Return] = some(d.Return(t))
	if many, ok := d.(dialect.FinisherOfMany); ok {
		s := many.FinishMany(t)
		r.finishMany = &s
	}
	if o.DeadGroup != "" {
		r.change[MoveToGroup] = some(d.MoveToGroup(t))
	}
	if o.DeadTable != nil {
		r.change[MoveToTable] = d.MoveToTable(t, o.DeadTable)
	}
	if o.FIFO {
		if r.fifo, err = newFIFO(&r.source); err != nil {
			return nil, err
		}
		fifo, ok := d.(dialect.FifoRowLock)
		if !ok {
			return nil, fmt.Errorf("table %s: %s has no FIFO groups in the row lock form", t, d.Name())
		}
		if o.Level != dialect.ReadCommitted {
			return nil, fmt.Errorf("table %s: fifo in the row lock form needs the isolation level %q: at %q a claim does not see what was committed before it had the group's lock",
				t, dialect.ReadCommitted, o.Level)
		}
		r.head = fifo.RowLockHead(t)
	}
	return r, nil
}

func list(levels []dialect.Level) string {
	words := make([]string, len(levels))
	for i, l := range levels {
		words[i] = string(l)
	}
	return strings.Join(words, ", ")
}

// some is the statement, or none where it has nothing to do.
func some(s dialect.Statement) []dialect.Statement {
	if s.SQL == "" {
		return nil
	}
	return []dialect.Statement{s}
}

// Statements implements [Form].
func (r *RowLock) Statements() []Named {
	named := []Named{{"claim", *r.claim(rowLockClaim{})}, {"claim of one", *r.claim(rowLockClaim{take: 1})}, {"claim without rows", *r.claim(rowLockClaim{leftOut: 1})}}
	if r.fifo != nil {
		named = append(r.fifo.statements(), Named{"claim head", r.head})
	}
	for change, name := range []string{"finish", "return", "move to group", "move to table"} {
		for _, s := range r.change[change] {
			named = append(named, Named{name, s})
		}
	}
	if r.finishMany != nil {
		named = append(named, Named{"finish many", *r.finishMany})
	}
	return named
}

// rowLockClaim is a claim by what its statement goes by.
type rowLockClaim struct {
	leftOut int // how many rows it leaves out
	take    int // how many rows it takes, 0 where that is bound
}

// maxTake is the most that a claim takes by a statement of its own.
const maxTake = 64

// claim is the statement of a claim.
func (r *RowLock) claim(c rowLockClaim) *dialect.Statement {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, ok := r.claims[c]
	if !ok {
		selection := r.options.selection()
		selection.LeftOut, selection.Take = c.leftOut, c.take
		built := r.dialect.RowLockClaim(r.table, selection)
		s = &built
		r.claims[c] = s
	}
	return s
}

// Connections implements [Connected].
func (r *RowLock) Connections() int { return 1 }

// KeepEvery implements [Form].
func (r *RowLock) KeepEvery() time.Duration { return time.Second }

// Extend asks the server of each transaction that holds deliveries whether it is still there. One that
// is being settled is: its settlement says what became of it. One that does not answer is ended, and
// its deliveries are lost.
func (r *RowLock) Extend(ctx context.Context, deliveries []*Delivery) []Answer {
	lost := map[*hold]*atomic.Bool{}
	var probes sync.WaitGroup
	for _, d := range deliveries {
		if h := d.hold; lost[h] == nil {
			found := &atomic.Bool{}
			lost[h] = found
			probes.Go(func() { found.Store(h.lost(ctx)) })
		}
	}
	probes.Wait()
	answers := make([]Answer, len(deliveries))
	for i, d := range deliveries {
		if lost[d.hold].Load() {
			answers[i].State = Lost
		}
	}
	return answers
}

// lost probes the hold.
func (h *hold) lost(ctx context.Context) bool {
	if !h.mu.TryLock() {
		return false
	}
	defer h.mu.Unlock()
	if h.ended {
		return true
	}
	if h.session.Ping(ctx) == nil {
		return false
	}
	h.end(false)
	return true
}

// end gives the connection back, or closes it where nobody knows what it still holds. The lock is held.
// An error is none of the rows' business: the pool drops a connection that is broken.
func (h *hold) end(clean bool) {
	h.ended = true
	if h.release != nil {
		clean = h.release() && clean
	}
	if h.guest != nil && h.guest.work != nil {
		clean = clean && wash(h.guest.work)
		h.guest.work = nil
	}
	endSession(h.session, clean)
}
