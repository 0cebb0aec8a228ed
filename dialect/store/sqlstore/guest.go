package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/inbox-wasm/inbox-wasm/abi"
	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
)

// Guest says how a database runs the statements of guests.
type Guest struct {
	// Bound bounds a connection for a guest's statement whose answer may have so many bytes, and gives what takes the
	// bounds back; nil where that is not needed.
	Bound func(held *sql.Conn, limit int64) (release func() error, err error)
	// Kind is the kind of a value, by the type that the driver gives its column and by the value itself, which
	// it may change into one that [value] takes.
	Kind func(typeName string, source any) (abi.ValueKind, any)
	// Argument is an argument as the driver takes it.
	Argument func(arg any) any
	// Error reads what the database answers, nil for an error of another kind.
	Error func(err error) *store.GuestError
	// ChangedSQL answers how many rows the last statement has changed.
	ChangedSQL string
	// SessionSQL answers what names a session to Cancel, which ends the statement that the session runs. Without
	// them the driver itself ends a statement whose context ends.
	SessionSQL string
	Cancel     func(ctx context.Context, session string) error
	// Leave lists the statements that end what a guest may hold by a session of its own, and Wash those that take
	// back what it may have left in any.
	Leave, Wash []string
}

var (
	_ store.GuestWork    = (*work)(nil)
	_ store.GuestSession = (*session)(nil)
)

// cancelIn bounds the cancellation of a statement. A connection on which it takes longer is closed.
const cancelIn = 2 * time.Second

// RunGuest implements [store.Guest].
func (c *session) RunGuest(ctx context.Context, s dialect.GuestStatement, args []any, a *store.Answer) (failed error) {
	if s.Marks > 0 && s.Marks != len(args) {
		// A driver that writes arguments into the text must not meet a question mark that is none.
		return &store.GuestError{Message: fmt.Sprintf("the statement has %d question marks, and there are %d arguments", s.Marks, len(args))}
	}
	if c.config.Guest == nil {
		return errors.New("this store runs no statements of guests")
	}
	if c.config.Guest.Bound != nil {
		release, err := c.config.Guest.Bound(c.held, a.Limit())
		if err != nil {
			return err
		}
		defer func() { failed = errors.Join(failed, release()) }()
	}
	values := make([]any, len(args))
	for i, arg := range args {
		values[i] = c.config.Guest.Argument(arg)
	}
	err := c.cancellable(ctx, func(ctx context.Context) error { return c.runGuest(ctx, s, values, a) })
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if answered := c.config.Guest.Error(err); answered != nil {
		return answered
	}
	return err
}

// cancellable runs a statement, and cancels it on the server when ctx ends: a driver that only closes the
// connection leaves the statement running, with its locks.
func (c *session) cancellable(ctx context.Context, run func(ctx context.Context) error) error {
	if c.config.Guest.Cancel == nil {
		return run(ctx)
	}
	if c.id == "" {
		if err := c.held.QueryRowContext(ctx, c.config.Guest.SessionSQL).Scan(&c.id); err != nil {
			return err
		}
	}
	running, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	cancelled := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(cancelled)
		time.AfterFunc(cancelIn, cut) // after the call it cuts nothing
		bounded, end := context.WithTimeout(running, cancelIn)
		defer end()
		if c.config.Guest.Cancel(bounded, c.id) != nil {
			cut()
		}
	})
	err := run(running)
	if !stop() {
		<-cancelled
		// A cancellation that came late ends this instead of the connection's next statement.
		_, _ = c.held.ExecContext(running, "DO 0")
	}
	return err
}

func (c *session) runGuest(ctx context.Context, s dialect.GuestStatement, args []any, a *store.Answer) error {
	if !s.Answers() {
		result, err := c.held.ExecContext(ctx, s.SQL, args...)
		if err != nil {
			return err
		}
		n, err := result.RowsAffected()
		a.Changed(n)
		return err
	}
	columns, err := c.queryGuest(ctx, s, args, a)
	if err != nil || columns > 0 {
		if s.Returns && s.Verb != "SELECT" {
			a.Changed(a.Rows())
		}
		return err
	}
	// It began with WITH.
	var n int64
	err = c.held.QueryRowContext(ctx, c.config.Guest.ChangedSQL).Scan(&n)
	a.Changed(max(n, 0))
	return err
}

func (c *session) queryGuest(ctx context.Context, s dialect.GuestStatement, args []any, a *store.Answer) (columns int, err error) {
	rows, err := c.held.QueryContext(ctx, s.SQL, args...)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	types, err := rows.ColumnTypes()
	if err != nil {
		return 0, err
	}
	names := make([]string, len(types))
	typeNames := make([]string, len(types))
	sources := make([]any, len(types))
	targets := make([]any, len(types))
	for i, t := range types {
		names[i], typeNames[i] = t.Name(), strings.ToUpper(t.DatabaseTypeName())
		targets[i] = &sources[i]
	}
	a.Columns(names)
	var text value
	for rows.Next() {
		if err := rows.Scan(targets...); err != nil {
			return len(types), err
		}
		for i, v := range sources {
			kind, v := c.config.Guest.Kind(typeNames[i], v)
			if err := text.Scan(v); err != nil {
				return len(types), err
			}
			a.Value(kind, text.bytes)
		}
	}
	return len(types), rows.Err()
}

// Wash implements [store.GuestWork]. The session's locks are not the guest's.
func (w *work) Wash(ctx context.Context) error { return w.execAll(ctx, w.config.Guest.Wash) }

// Wash implements [store.GuestSession].
func (s *session) Wash(ctx context.Context) error {
	if err := s.execAll(ctx, s.config.Guest.Leave); err != nil {
		return err
	}
	return s.execAll(ctx, s.config.Guest.Wash)
}

func (s *session) execAll(ctx context.Context, texts []string) error {
	for _, text := range texts {
		if _, err := s.held.ExecContext(ctx, text); err != nil {
			return err
		}
	}
	return nil
}
