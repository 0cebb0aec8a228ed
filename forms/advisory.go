package forms

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
)

// Advisory holds a row by a lock on its key, which a session of the database holds while no transaction
// is open. One session holds the locks of many deliveries: its loss is the loss of exactly those, and
// their rows return at once. A table with a lock of its own has a session for each delivery, since such
// a lock may be one that a session takes twice.
//
// Claim may run beside the other methods. Extend and Settle belong to one goroutine.
type Advisory struct {
	source
	dialect dialect.Advisory
	locks   *Locks
	place   string // of the store, by which the locks are registered
	// own says that the table's locks are the user's own, and apart that each delivery has a session of its own.
	own, apart bool
	// lanes is how many sessions keep deliveries where each keeps many.
	lanes int
	// rules are set where deliveries have transactions.
	rules *guestRules

	// groups is nil where the dialect takes and settles rows one at a time.
	groups          *advisoryGroups
	claim           dialect.Statement
	take, takeAhead []dialect.Statement
	// lock and unlock are nil where the process keeps the locks.
	lock, unlock *dialect.Statement
	change       [changeCount][]dialect.Statement
	// settleIn bounds a take and a settlement. A session that takes longer is retired; a database
	// without sessions waits for other programs that write.
	settleIn time.Duration

	resting resting
	window  window
	reach   int // how many rows a look reads at least; Claim's own

	mu      sync.Mutex
	keepers map[*keeper]bool // that are alive
	spares  []*keeper        // that can keep one more delivery
	closed  bool
	result  Closed
	release func() error // of a database that this process occupies
}

const (
	// maxLanes is how many sessions settle and take deliveries side by side.
	maxLanes = 2
	// maxKeys is how many deliveries a session keeps. The server's table of locks is shared by all of
	// its sessions, and new connections fail when it is full: at some 12,700 locks by PostgreSQL's
	// own settings.
	maxKeys = 512
	// answerIn bounds a lock, an unlock and a probe: a session that takes longer is retired.
	answerIn = 2 * time.Second
	// hireIn is how long one more session is waited for.
	hireIn = 100 * time.Millisecond
	// holdFor is how long a delivery's hold is trusted after its session has answered.
	holdFor = 5 * time.Second
	// candidatesIn bounds the search for candidates.
	candidatesIn = 30 * time.Second
)

// ErrClosed is the error of a claim after the form was closed.
var ErrClosed = errors.New("the form is closed")

// NewAdvisory builds the statements of a subscription. It fails where the dialect has no advisory lock
// form.
func NewAdvisory(s store.Store, o Options) (*Advisory, error) {
	d, ok := s.Dialect().(dialect.Advisory)
	if !ok {
		return nil, fmt.Errorf("table %s: %s has no advisory lock form", o.Table, s.Dialect().Name())
	}
	if o.FIFO {
		return nil, fmt.Errorf("table %s: fifo cannot go with a lock key: put the group's column into the key", o.Table)
	}
	t := o.Table
	ahead := o.selection()
	ahead.BelowCap = o.MaxAttempts > 0
	a := &Advisory{
		source: newSource(s, o), dialect: d, locks: o.Locks,
		claim: d.AdvisoryClaim(t, o.selection()),
		take:  d.Take(t, o.selection()), takeAhead: d.Take(t, ahead),
		lock: d.Lock(), unlock: d.Unlock(),
		lanes:    1,
		settleIn: 5 * time.Second,
		keepers:  map[*keeper]bool{},
	}
	if a.lock == nil {
		a.settleIn = 15 * time.Second
	}
	if a.locks == nil {
		a.locks = processLocks
	}
	if o.Lock != "" {
		lock, unlock := d.OwnLock(o.Lock), d.OwnLock(o.Unlock)
		a.own, a.lock, a.unlock = true, &lock, &unlock
	}
	if err := a.transactional(); err != nil {
		return nil, err
	}
	a.apart = a.own || a.rules != nil
	if many, ok := d.(dialect.AdvisoryMany); ok && !a.apart {
		a.groups = newAdvisoryGroups(many, t, o)
		a.lanes = min(maxLanes, max(1, o.Sessions))
	}
	a.change[Finish] = []dialect.Statement{d.Finish(t)}
	a.change[Return] = []dialect.Statement{d.Return(t)}
	if o.DeadGroup != "" {
		a.change[MoveToGroup] = []dialect.Statement{d.MoveToGroup(t)}
	}
	if o.DeadTable != nil {
		a.change[MoveToTable] = d.MoveToTable(t, o.DeadTable)
	}
	return a, nil
}

// Statements implements [Form].
func (a *Advisory) Statements() []Named {
	var list []Named
	add := func(name string, statements ...dialect.Statement) {
		for _, s := range statements {
			if s.SQL != "" {
				list = append(list, Named{name, s})
			}
		}
	}
	add("candidates", a.claim)
	add("take", a.take...)
	if a.options.MaxAttempts > 0 {
		add("take ahead", a.takeAhead...)
	}
	if a.lock != nil {
		add("lock", *a.lock)
		add("unlock", *a.unlock)
	}
	if g := a.groups; g != nil {
		add("lock many", g.lock)
		add("take many", g.take)
		if a.options.MaxAttempts > 0 {
			add("take many ahead", g.takeAhead)
		}
		add("finish many", g.finish)
		add("unlock many", g.unlock)
	}
	for change, name := range []string{"finish", "return", "move to group", "move to table"} {
		add(name, a.change[change]...)
	}
	return list
}

// KeepEvery implements [Form]: sessions are probed each second.
func (a *Advisory) KeepEvery() time.Duration { return time.Second }

// Held is a form that holds something of the database beyond its deliveries: it is opened before the
// first claim and closed after the last settlement.
type Held interface {
	Open(ctx context.Context) error
	Close() (Closed, error)
	// Connections is how many connections of the pool it holds, at most.
	Connections() int
	// Narrow has it make do with as few as it can, before it is opened.
	Narrow()
	// Frees says that the end of one delivery can make other rows claimable.
	Frees() bool
}

// Closed says what a form held when it was closed, and what had to be given up before.
type Closed struct {
	// LocksReleased are those of deliveries in work, whose sessions were given back.
	LocksReleased int
	// ConnectionsClosed are sessions that held locks and were closed, since the database did not
	// confirm that one was released, or did not answer.
	ConnectionsClosed int
}

// Open occupies the database where that is needed, and takes a session.
func (a *Advisory) Open(ctx context.Context) error {
	a.place = a.store.Place()
	if sole, ok := a.store.(store.Sole); ok && !a.own {
		release, err := sole.Occupy(ctx)
		if err != nil {
			return fmt.Errorf("table %s: %w", a.table, err)
		}
		a.mu.Lock()
		a.release = release
		a.mu.Unlock()
	}
	k, err := a.keeper(ctx)
	if err != nil {
		return fmt.Errorf("hold a session for the locks of %s: %w", a.table, err)
	}
	a.giveBack(k)
	return nil
}

// Connections implements [Held].
func (a *Advisory) Connections() int {
	switch {
	case a.lock == nil:
		return 0
	case a.apart:
		return max(1, a.options.Sessions)
	default:
		return a.lanes
	}
}

// Narrow implements [Held].
func (a *Advisory) Narrow() { a.lanes = 1 }

// Frees implements [Held]: the key is free again.
func (a *Advisory) Frees() bool { return true }

// Close releases the lock of every delivery in work, whose later settlements are answered [Lost], and
// gives the sessions back. A session that does not confirm it is closed.
func (a *Advisory) Close() (Closed, error) {
	a.mu.Lock()
	a.closed = true
	keepers := a.keepers
	a.keepers, a.spares = map[*keeper]bool{}, nil
	release := a.release
	a.release = nil
	a.mu.Unlock()
	var errs []error
	for k := range keepers {
		errs = append(errs, a.disband(k))
	}
	if release != nil {
		errs = append(errs, release())
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.result, errors.Join(errs...)
}
