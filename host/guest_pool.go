package host

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/host/config"
)

// guestPool is a thread's own connections, for what its guest asks of the database outside of its delivery's
// transaction. A call keeps the connection of its first statement to its end, so that it may have a transaction
// there. What it leaves in the session is cleared before the connection serves another call, while the thread goes on.
//
// All but the clearing happens on the thread's goroutine.
type guestPool struct {
	store    store.Store
	rules    *dialect.GuestRules
	log      *slog.Logger
	limit    int64         // of an answer, in bytes
	permits  chan struct{} // one for each connection in use
	clearing sync.WaitGroup

	// Of the call: its session, nil before the first statement; what will say that a statement has ended which
	// the call did not wait for; and whether the session is to be closed.
	session store.GuestSession
	late    <-chan struct{}
	spent   bool
}

// newGuestPool is a thread's pool, nil where the handler has none.
func newGuestPool(guests store.Store, h *config.Handler, log *slog.Logger) *guestPool {
	if guests == nil {
		return nil
	}
	d := guests.Dialect().(dialect.Guests) // or the start was refused
	return &guestPool{store: guests, rules: d.PoolRules(), log: log, limit: h.Limits.DBResult, permits: make(chan struct{}, h.Connections)}
}

// run runs one statement. It returns soon after ctx ends, whatever the database does; the statement is cancelled.
func (p *guestPool) run(ctx context.Context, sql string, args []byte) ([]byte, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err() // and a statement that was not waited for may still have the session
	}
	request, err := store.NewGuestRequest(p.rules, sql, args, p.limit)
	if err != nil {
		return nil, err
	}
	if err := p.take(ctx); err != nil {
		return nil, err
	}
	p.spent = p.spent || request.Spends()
	var text []byte
	ended := make(chan struct{})
	session := p.session
	go func() {
		defer close(ended)
		text, err = request.Run(ctx, session)
	}()
	select {
	case <-ended:
		return text, err
	case <-ctx.Done():
		p.late = ended
		return nil, ctx.Err()
	}
}

// take gives the call a session, unless it has one.
func (p *guestPool) take(ctx context.Context) error {
	if p.session != nil {
		return nil
	}
	select {
	case p.permits <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	held, err := p.store.Hold(ctx)
	if err != nil {
		<-p.permits
		if ctx.Err() != nil {
			return ctx.Err()
		}
		// What the driver says may name the server, which is not the guest's business.
		p.log.Warn("no connection for the handler's own pool", "error", err)
		return &store.GuestError{Message: "no connection to the database can be made"}
	}
	p.session = held.(store.GuestSession) // or the start was refused
	return nil
}

// clearIn bounds the clearing of a session. One that takes longer is closed.
const clearIn = 2 * time.Second

// end ends the call's use of its session.
func (p *guestPool) end() {
	if p == nil || p.session == nil {
		return
	}
	session, late, spent := p.session, p.late, p.spent
	p.session, p.late, p.spent = nil, nil, false
	p.clearing.Go(func() {
		defer func() { <-p.permits }()
		if late != nil {
			<-late // soon: it was cancelled, or its connection is cut
		}
		if spent || !cleared(session) {
			_ = session.Close() // whatever it says, the session is not used again
			return
		}
		_ = session.Release() // the pool drops a connection that is broken
	})
}

func cleared(session store.GuestSession) bool {
	ctx, cancel := context.WithTimeout(context.Background(), clearIn)
	defer cancel()
	return session.Wash(ctx) == nil
}

// close waits until no session is in use. No call may be in progress.
func (p *guestPool) close() {
	if p != nil {
		p.clearing.Wait()
	}
}
