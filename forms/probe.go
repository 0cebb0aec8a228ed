package forms

import (
	"context"
	"fmt"

	"github.com/inbox-wasm/inbox-wasm/dialect"
)

// A probe runs the statements of a claim so that they take no row: they wait for what a claim would wait for, a lock on
// the table above all, and are refused what a claim would be refused.

// Probe implements [Form].
func (l *Lease) Probe(ctx context.Context) error {
	b, _ := l.newClaim(0)
	take := &l.claim.all.Take
	return l.touch(ctx, take, 0, b.arguments(take, 0))
}

// Probe implements [Form].
func (r *RowLock) Probe(ctx context.Context) error {
	take := r.claim(rowLockClaim{})
	b := &bind{source: &r.source, now: r.options.Now()}
	return r.touch(ctx, take, 0, b.arguments(take, 0))
}

// Probe implements [Form]. It asks for no candidate, and takes the row whose key is NULL, which is none.
func (a *Advisory) Probe(ctx context.Context) error {
	b := &bind{source: &a.source, now: a.options.Now(), one: &Settlement{Delivery: &Delivery{ID: make(ID, len(a.columns))}}}
	args, n := b.candidateArguments(&a.claim, nil)
	if err := a.touch(ctx, &a.claim, n, args); err != nil {
		return err
	}
	return a.touch(ctx, &a.take[0], 0, b.arguments(&a.take[0], 0))
}

func (s *source) touch(ctx context.Context, st *dialect.Statement, n int, args []any) error {
	var err error
	if len(st.Returns) > 0 {
		err = s.store.Query(ctx, st, n, args, nothing)
	} else {
		_, err = s.store.Exec(ctx, st, n, args)
	}
	if err != nil {
		return fmt.Errorf("probe %s: %w", s.table, err)
	}
	return nil
}
