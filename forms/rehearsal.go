package forms

import (
	"context"
	"errors"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
)

// Rehearsal is a transaction as a delivery has one, for a guest that is called without a row. It is used by one
// goroutine.
type Rehearsal struct {
	store   store.Store
	rules   *guestRules
	level   dialect.Level
	session store.Session
	guest   guest
}

var _ Runner = (*Rehearsal)(nil)

// NewRehearsal takes the table, the level and the role of the options.
func NewRehearsal(s store.Store, o Options) (*Rehearsal, error) {
	o.Transactional = true
	rules, err := guestsOf(s, &o)
	if err != nil {
		return nil, err
	}
	return &Rehearsal{store: s, rules: rules, level: o.Level}, nil
}

// Run implements [Runner]. The delivery is nobody's.
func (r *Rehearsal) Run(ctx context.Context, _ *Delivery, call Call) ([]byte, error) {
	request, err := r.rules.request(&call)
	if err != nil {
		return nil, err
	}
	if r.session == nil {
		if err := r.begin(ctx); err != nil {
			return nil, err
		}
	}
	if r.guest.spoiled != nil {
		return nil, r.guest.earlier()
	}
	return r.guest.run(ctx, r.rules, request, call.Trusted)
}

func (r *Rehearsal) begin(ctx context.Context) error {
	session, err := r.store.Hold(ctx)
	if err != nil {
		return err
	}
	tx, err := session.BeginWork(ctx, store.TxOptions{Level: r.level})
	if err == nil {
		err = r.guest.set(ctx, tx)
	}
	if err != nil {
		return errors.Join(err, session.Close())
	}
	r.session = session
	return nil
}

// Spoiled says why the transaction cannot be kept: a statement has failed.
func (r *Rehearsal) Spoiled() error { return r.guest.spoiled }

// End commits what the guest wrote, or takes it back.
func (r *Rehearsal) End(ctx context.Context, keep bool) error {
	if r.session == nil {
		return nil
	}
	var err error
	if keep {
		if err = r.guest.keep(ctx, r.rules); err == nil {
			err = r.guest.work.Commit(ctx)
		}
	}
	// A connection that is closed has rolled back.
	return errors.Join(err, r.session.Close())
}
