package host

import (
	"context"
	"errors"
	"fmt"

	"github.com/inbox-wasm/inbox-wasm/forms"
)

// openForms opens the forms that hold something of the database, before the first claim of any. Where one
// cannot be opened, none is left open.
func openForms(ctx context.Context, subscriptions []*subscription) error {
	for i, sub := range subscriptions {
		held, ok := sub.form.(forms.Held)
		if !ok {
			continue
		}
		if err := held.Open(ctx); err != nil {
			return errors.Join(fmt.Errorf("handler %s: %w", sub.handler.Name, err), closeForms(subscriptions[:i+1]))
		}
	}
	return nil
}

// closeForms closes what openForms has opened, after the last settlement.
func closeForms(subscriptions []*subscription) error {
	var errs []error
	for _, sub := range subscriptions {
		held, ok := sub.form.(forms.Held)
		if !ok {
			continue
		}
		closed, err := held.Close()
		if err != nil {
			errs = append(errs, fmt.Errorf("handler %s: %w", sub.handler.Name, err))
		}
		sub.log.Info("the locks are released", "locks_released", closed.LocksReleased, "connections_closed", closed.ConnectionsClosed)
	}
	return errors.Join(errs...)
}

// frees reports whether the end of one delivery can make other rows claimable: those of its key, or the next
// head of its FIFO group.
func (s *subscription) frees() bool {
	if s.handler.Table.FIFO {
		return true
	}
	held, ok := s.form.(forms.Held)
	return ok && held.Frees()
}
