package forms

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
)

// Transactional is a form that carries what a delivery's guest writes in a transaction: the ack commits it, and
// every other end rolls it back. The transaction, or its savepoint, is made by the delivery's first statement: a
// guest that writes nothing costs none.
//
// Run, Spoiled and End are called by the goroutine that handles the delivery, beside all other methods.
type Transactional interface {
	Form
	Runner
	// Opens reports whether a transaction takes a connection beside what the form holds for its deliveries.
	Opens() bool
	// Spoiled says why the delivery cannot be acked: one of its statements has failed.
	Spoiled(d *Delivery) error
	// End settles a delivery inside its transaction. It reports false where there is none, or none any more,
	// and the delivery is to be settled as any other; what its guest wrote is rolled back then. An ack that
	// the database did not commit is answered [RolledBack]: the row is still held.
	End(ctx context.Context, s *Settlement) (Answer, bool)
}

// Runner runs statements in a delivery's transaction.
type Runner interface {
	// Run runs one statement and answers JSON. Errors that say what is wrong with the call are
	// [store.ErrArguments] and [store.ErrTooLarge], the database's own are [store.GuestError], and when ctx ends
	// first it is ctx's.
	Run(ctx context.Context, d *Delivery, call Call) ([]byte, error)
}

// Call is a statement for a delivery's transaction, one that the rules for guests allow.
type Call struct {
	SQL string
	// Args is the text of a JSON array; nil is no arguments.
	Args []byte
	// Limit is how long the answer may be, in bytes.
	Limit int64
	// Trusted says that the statement is the host's own, which [Options.Role] does not bind.
	Trusted bool
}

// guest is what a delivery's guest has of a transaction.
type guest struct {
	// lock keeps the guest's statements and what else is done on the connection apart.
	lock lock
	// work is nil before the first statement, and after the transaction has ended.
	work      store.GuestWork
	session   store.Session
	savepoint string
	role      string // whose rights the next statement would have; empty is the service's own
	spoiled   error
	// kept says that the savepoint was released, and over that the transaction has ended by the delivery's
	// settlement.
	kept, over bool
}

// guestRules are those of the dialect with whose rights the statements run.
type guestRules struct {
	*dialect.GuestRules
	role string
}

// guestsOf gives the rules for statements of guests, and fails where the database carries none.
func guestsOf(s store.Store, o *Options) (*guestRules, error) {
	if !o.Transactional {
		return nil, nil
	}
	d, ok := s.Dialect().(dialect.Guests)
	if !ok {
		return nil, fmt.Errorf("table %s: %s has no rules for the statements of guests, which a transactional handler needs", o.Table, s.Dialect().Name())
	}
	rules := &guestRules{d.GuestRules(), o.Role}
	if o.Role != "" && rules.SetRole == nil {
		return nil, fmt.Errorf("table %s: %s has no roles that take rights away", o.Table, d.Name())
	}
	return rules, nil
}

// request reads a call.
func (r *guestRules) request(c *Call) (*store.GuestRequest, error) {
	return store.NewGuestRequest(r.GuestRules, c.SQL, c.Args, c.Limit)
}

// set makes the savepoint to which everything but an ack goes back. Its name is random, so that no statement of
// a guest can name it.
func (g *guest) set(ctx context.Context, tx store.Work) error {
	work, ok := tx.(store.GuestWork)
	if !ok {
		return errors.New("this store runs no statements of guests")
	}
	name := "inbox_" + rand.Text()
	if err := command(ctx, work, "SAVEPOINT "+name); err != nil {
		return fmt.Errorf("set a savepoint: %w", err)
	}
	g.work, g.savepoint = work, name
	return nil
}

func command(ctx context.Context, c store.Conn, sql string) error {
	_, err := c.Exec(ctx, &dialect.Statement{SQL: sql}, 0, nil)
	return err
}

// become changes whose rights the statements that follow have.
func (g *guest) become(ctx context.Context, rules *guestRules, role string) error {
	if g.role == role {
		return nil
	}
	sql := rules.ResetRole
	if role != "" {
		sql = rules.SetRole(role)
	}
	if err := command(ctx, g.work, sql); err != nil {
		return fmt.Errorf("change the role: %w", err)
	}
	g.role = role
	return nil
}

// run runs a statement. One that fails spoils the delivery: on some databases it has ended the transaction's
// work, and on all of them the guest has not done what it meant to.
func (g *guest) run(ctx context.Context, rules *guestRules, r *store.GuestRequest, trusted bool) ([]byte, error) {
	role := rules.role
	if trusted {
		role = ""
	}
	if err := g.become(ctx, rules, role); err != nil {
		g.spoiled = err
		return nil, err
	}
	text, err := r.Run(ctx, g.work)
	if err != nil && !errors.Is(err, store.ErrTooLarge) {
		g.spoiled = err
	}
	return text, err
}

// earlier is what a statement is answered once the delivery is spoiled.
func (g *guest) earlier() error {
	return &store.GuestError{Message: "a statement of this delivery has failed before, and what it wrote will be rolled back: " + g.spoiled.Error()}
}

// keep makes what the guest wrote part of the transaction. A savepoint that is not there any more says that
// something has ended the transaction.
func (g *guest) keep(ctx context.Context, rules *guestRules) error {
	if g.spoiled != nil {
		return fmt.Errorf("a statement of the delivery has failed: %w", g.spoiled)
	}
	if rules.Keep != "" {
		if err := command(ctx, g.work, rules.Keep); err != nil {
			return fmt.Errorf("keep what the handler wrote: %w", err)
		}
	}
	if err := command(ctx, g.work, "RELEASE SAVEPOINT "+g.savepoint); err != nil {
		return fmt.Errorf("release the delivery's savepoint: %w", err)
	}
	return g.become(ctx, rules, "")
}

// revert takes back what the guest wrote, and the change of its role. It is tried twice: the cancellation of a statement that had just
// ended by itself may end the first try.
func (g *guest) revert(ctx context.Context) error {
	err := command(ctx, g.work, "ROLLBACK TO SAVEPOINT "+g.savepoint)
	if err != nil {
		err = command(ctx, g.work, "ROLLBACK TO SAVEPOINT "+g.savepoint)
	}
	if err != nil {
		return fmt.Errorf("roll back to the delivery's savepoint: %w", err)
	}
	g.role = ""
	return nil
}

// washIn bounds the cleaning of a session. One that takes longer is closed.
const washIn = 2 * time.Second

// wash reports whether the session of an ended transaction is as if no guest had used it.
func wash(work store.GuestWork) bool {
	ctx, cancel := context.WithTimeout(context.Background(), washIn)
	defer cancel()
	return work.Wash(ctx) == nil
}
