package forms

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
)

// keeper is a session with the locks that it holds for deliveries.
type keeper struct {
	// mu lets one statement at a time run, and guards the rest.
	mu      lock
	session store.Session
	// sequencer is the session where it settles and takes rows in one round trip.
	sequencer store.Sequencer
	id        any // of the session on its server; nil where it has none
	kept      map[*Delivery]bool
	busy      atomic.Bool     // kept some when it was last given back
	used      time.Time       // when the session last answered
	lost      error           // why the session was retired
	guests    store.GuestWork // the last work of a guest on it, until it is cleared of what that left
}

// load is how many deliveries the session keeps.
func (k *keeper) load() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.kept)
}

// keyLock is the lock that a delivery holds.
type keyLock struct {
	keeper *keeper
	key    string
	name   string
	// listed says that the process's registry has the name.
	listed bool
	// place is that of the row in its window, and state what became of its claim.
	place int
	state lockState
}

// lockState is what a claim has found of a lock.
type lockState uint8

const (
	lockElsewhere lockState = iota // or an error
	lockHeld
	lockFree // released again, since the row could not be had
)

// keeper is a session that can keep one more delivery. An error that is nil with no keeper means that
// there is no room.
func (a *Advisory) keeper(ctx context.Context) (*keeper, error) {
	a.mu.Lock()
	count, closed := len(a.keepers), a.closed
	// A claim on one session runs beside the settlements on another.
	another := !a.apart && count < a.lanes && len(a.spares) > 0 && a.spares[0].busy.Load()
	a.mu.Unlock()
	if closed {
		return nil, ErrClosed
	}
	if another {
		if k, err := a.hire(ctx, hireIn); err == nil {
			return k, nil
		}
	}
	k := a.spared()
	if k != nil && a.usable(ctx, k) {
		return k, nil
	}
	if a.apart && count >= max(1, a.options.Sessions) || !a.apart && k == nil && count > 0 {
		return nil, nil
	}
	patience := answerIn
	if count > 0 {
		// A claim of several deliveries ends where the pool is full, and does not wait for room.
		patience = hireIn
	}
	return a.hire(ctx, patience)
}

// spared takes the keeper that has waited longest for a claim, nil where there is none.
func (a *Advisory) spared() *keeper {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.spares) == 0 {
		return nil
	}
	k := a.spares[0]
	a.spares = slices.Delete(a.spares, 0, 1)
	return k
}

// usable reports whether a keeper has room and its session lives. One that has not been heard of for a
// while is asked.
func (a *Advisory) usable(ctx context.Context, k *keeper) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.lost == nil && time.Since(k.used) > time.Second {
		a.probe(ctx, k)
	}
	return k.lost == nil
}

// probe asks a session whether it lives, and retires one that does not say so.
func (a *Advisory) probe(ctx context.Context, k *keeper) {
	bounded, cancel := within(ctx, answerIn)
	defer cancel()
	if err := k.session.Ping(bounded); err != nil {
		a.retire(k, fmt.Errorf("a session that holds locks does not answer: %w", err))
		return
	}
	k.used = time.Now()
}

// within is a context of its own time: a statement that is cut off takes its session with it, and the
// locks of every other delivery.
func within(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), d)
}

// hire takes a session out of the pool.
func (a *Advisory) hire(ctx context.Context, patience time.Duration) (*keeper, error) {
	k := &keeper{mu: newLock(), kept: map[*Delivery]bool{}, used: time.Now()}
	if a.lock == nil {
		// The process keeps the locks, and any connection will do.
		k.session = plain{a.store}
	} else {
		bounded, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		session, err := a.store.Hold(bounded)
		if err != nil {
			return nil, err
		}
		k.session = session
		if a.groups != nil {
			k.sequencer, _ = session.(store.Sequencer)
		}
		if err := a.prepare(ctx, k); err != nil {
			return nil, errors.Join(err, session.Close())
		}
	}
	a.mu.Lock()
	a.keepers[k] = true
	a.mu.Unlock()
	return k, nil
}

// prepare sets a new session up and asks for its name.
func (a *Advisory) prepare(ctx context.Context, k *keeper) error {
	bounded, cancel := within(ctx, a.settleIn)
	defer cancel()
	if s := a.dialect.LockSettings(); s != nil {
		if _, err := k.session.Exec(bounded, s, 0, nil); err != nil {
			return fmt.Errorf("set up a session: %w", err)
		}
	}
	if s := a.dialect.SessionID(); s != nil {
		return k.session.Query(bounded, s, 0, nil, func(v [][]byte) error {
			k.id = idPart(dialect.Integer, v[0])
			return nil
		})
	}
	return nil
}

// giveBack takes back a keeper that has room, and lets go of what is not needed.
func (a *Advisory) giveBack(k *keeper) {
	k.mu.Lock()
	a.washKeeper(k)
	lost, kept := k.lost != nil, len(k.kept)
	k.busy.Store(kept > 0)
	k.mu.Unlock()
	if lost || a.apart && kept > 0 {
		return
	}
	a.mu.Lock()
	known := slices.Contains(a.spares, k)
	surplus := !a.closed && kept == 0 && !known && len(a.spares) >= a.lanes
	if surplus {
		delete(a.keepers, k)
	} else if !a.closed && !known {
		a.spares = append(a.spares, k)
	}
	a.mu.Unlock()
	if surplus {
		// Its settings are not those of the pool's other sessions.
		k.mu.Lock()
		defer k.mu.Unlock()
		k.lost = errors.Join(errUnneeded, k.session.Close())
	}
}

// errUnneeded is why a session was closed that held nothing.
var errUnneeded = errors.New("the session is not needed any more")

// retire ends a session with all of its locks: the rows of its deliveries are free, and their settlements
// are answered Lost. The keeper is locked.
func (a *Advisory) retire(k *keeper, cause error) {
	if k.lost != nil {
		return
	}
	k.lost = cause
	k.lost = errors.Join(cause, a.end(k))
	if len(k.kept) > 0 {
		a.mu.Lock()
		a.result.ConnectionsClosed++
		a.mu.Unlock()
	}
	for d := range k.kept {
		a.forget(&d.held)
		a.window.comeBack(a.again(d, false))
		if d.guest != nil {
			d.guest.work = nil // which has ended with the session
		}
	}
	clear(k.kept)
	a.mu.Lock()
	delete(a.keepers, k)
	a.spares = slices.DeleteFunc(a.spares, func(other *keeper) bool { return other == k })
	a.mu.Unlock()
}

// end closes a session: on its own connection, and from another one, since the server may never hear the
// first.
func (a *Advisory) end(k *keeper) error {
	if s := a.dialect.EndSession(); s != nil && k.id != nil {
		bounded, cancel := within(context.Background(), answerIn/2)
		defer cancel()
		// Most sessions are gone by now, which the server calls an error or not.
		_ = a.store.Query(bounded, s, 0, []any{k.id}, nothing)
	}
	return k.session.Close()
}

// disband releases what a keeper holds and gives its session back, or closes it.
func (a *Advisory) disband(k *keeper) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	released := 0
	for d := range k.kept {
		if k.lost == nil && a.unlockRow(context.Background(), k, &d.held) {
			delete(k.kept, d)
			released++
		}
	}
	if k.lost != nil {
		return nil
	}
	k.lost = ErrClosed
	a.mu.Lock()
	a.result.LocksReleased += released
	a.mu.Unlock()
	return k.session.Release()
}

// lockRow tries a lock without waiting.
func (a *Advisory) lockRow(ctx context.Context, k *keeper, l *keyLock) (bool, error) {
	if !a.own {
		if l.listed = a.locks.take(a.place, l.name); !l.listed {
			return false, nil
		}
	}
	if a.lock == nil {
		return true, nil
	}
	locked, err := a.ask(ctx, k, a.lock, l)
	if err != nil || !locked {
		a.forget(l)
	}
	return locked, err
}

// unlockRow releases a lock. A release that is not confirmed retires the session.
func (a *Advisory) unlockRow(ctx context.Context, k *keeper, l *keyLock) bool {
	if a.unlock != nil {
		released, err := a.ask(ctx, k, a.unlock, l)
		if err != nil || !released {
			a.retire(k, errors.Join(fmt.Errorf("the database did not confirm that the lock %q was released", l.key), err))
			// A delivery that is being claimed is not kept yet.
			a.forget(l)
			return false
		}
	}
	a.forget(l)
	return true
}

// forget strikes a lock off the process's registry.
func (a *Advisory) forget(l *keyLock) {
	if l.listed {
		l.listed = false
		a.locks.free(a.place, l.name)
	}
}

// ask runs a statement about a lock, which answers one value. A session that does not answer is retired.
func (a *Advisory) ask(ctx context.Context, k *keeper, s *dialect.Statement, l *keyLock) (yes bool, err error) {
	bounded, cancel := within(ctx, answerIn)
	defer cancel()
	args := make([]any, len(s.Params))
	for i, p := range s.Params {
		args[i] = l.key
		if p.Name == dialect.LockName {
			args[i] = l.name
		}
	}
	err = k.session.Query(bounded, s, 0, args, func(v [][]byte) error {
		yes, err = truth(v[0])
		return err
	})
	return yes, a.judge(k, err)
}

// judge retires a session that did not answer, and passes the error on.
func (a *Advisory) judge(k *keeper, err error) error {
	if err == nil {
		k.used = time.Now()
		return nil
	}
	if f := a.store.Failure(err); f == store.Unanswered || f == store.Unsent {
		a.retire(k, err)
	}
	return err
}

// truth reads what a lock or an unlock answers: an integer, or what a database calls true or false.
func truth(v []byte) (bool, error) {
	switch text := string(v); text {
	case "", "f", "false":
		return false, nil
	case "t", "true":
		return true, nil
	default:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return false, fmt.Errorf("a lock or an unlock answered %q, which is neither a number nor true or false", text)
		}
		return n != 0, nil
	}
}

// plain is a session of a database that keeps no locks: any connection will do.
type plain struct{ store.Store }

// BeginWork implements [store.Worker].
func (p plain) BeginWork(ctx context.Context, o store.TxOptions, first ...store.Step) (store.Work, error) {
	return nil, errors.New("a database without session locks has no transaction that stays open for a delivery")
}

// Ping implements [store.Worker].
func (plain) Ping(context.Context) error { return nil }

// Release implements [store.Session].
func (plain) Release() error { return nil }

// Close implements [store.Session].
func (plain) Close() error { return nil }
