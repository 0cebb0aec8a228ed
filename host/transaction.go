package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/inbox-wasm/inbox-wasm/abi"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/host/config"
	"github.com/inbox-wasm/inbox-wasm/host/engine"
)

// allowed names the functions with a side effect that a handler may import.
func allowed(h *config.Handler) (names []string) {
	if len(h.Allow.DB) > 0 {
		names = append(names, "db")
	}
	if len(h.Allow.HTTP) > 0 {
		names = append(names, "http")
	}
	if len(h.Allow.Publish) > 0 {
		names = append(names, "publish")
	}
	return names
}

// transactional is the form of a handler whose deliveries have transactions, nil for the others.
func (s *subscription) transactional() forms.Transactional {
	if !s.handler.Transactional {
		return nil
	}
	form, _ := s.form.(forms.Transactional)
	return form
}

// statements runs what the guest asks of the database about one row; nil where its handler allows nothing.
func (t *thread) statements(task *task) engine.Statements {
	form := t.sub.transactional()
	inTransaction := form != nil && allowsDB(t.sub.handler, "tx")
	if t.pool == nil && !inTransaction {
		return nil // for most handlers, at no cost
	}
	return statementsOn(t.pool, func(ctx context.Context, sql string, args []byte) ([]byte, error) {
		return t.sub.inTransaction(ctx, form, task, sql, args)
	}, inTransaction)
}

// allowsDB reports whether a handler's guests may use one of the connections, "pool" or "tx".
func allowsDB(h *config.Handler, conn string) bool { return slices.Contains(h.Allow.DB, conn) }

// statementsOn runs statements on a pool, nil for none, and in a transaction where it is allowed.
func statementsOn(pool *guestPool, inTransaction func(ctx context.Context, sql string, args []byte) ([]byte, error), allowed bool) engine.Statements {
	return func(ctx context.Context, conn int32, sql string, args []byte) ([]byte, abi.Errno) {
		var result []byte
		var err error
		switch {
		case conn == engine.ConnPool && pool != nil:
			result, err = pool.run(ctx, sql, args)
		case conn == engine.ConnTransaction && allowed:
			result, err = inTransaction(ctx, sql, args)
		default:
			return nil, abi.NotAllowed
		}
		return answered(ctx, result, err)
	}
}

// inTransaction runs a statement in the transaction of a delivery.
func (s *subscription) inTransaction(ctx context.Context, form forms.Transactional, t *task, sql string, args []byte) ([]byte, error) {
	t.asked = true
	if form.Opens() && !s.connect(ctx, t) {
		return nil, ctx.Err()
	}
	return form.Run(ctx, t.delivery, forms.Call{SQL: sql, Args: args, Limit: s.handler.Limits.DBResult})
}

// answered is the result of a statement as the contract has it.
func answered(ctx context.Context, result []byte, err error) ([]byte, abi.Errno) {
	switch {
	case err == nil:
		return result, 0
	case ctx.Err() != nil:
		return nil, abi.DeadlinePassed
	case errors.Is(err, store.ErrArguments):
		return nil, abi.BadArgument
	case errors.Is(err, store.ErrTooLarge):
		return nil, abi.TooLarge
	}
	said := struct {
		Message  string `json:"message"`
		SQLState string `json:"sqlstate,omitempty"`
		Number   int    `json:"number,omitempty"`
	}{Message: err.Error()}
	if answer := (*store.GuestError)(nil); errors.As(err, &answer) {
		said.Message, said.SQLState, said.Number = answer.Message, answer.SQLState, answer.Number
	}
	text, err := json.Marshal(said)
	if err != nil {
		panic(err) // strings and a number always have a form in JSON
	}
	return text, abi.Failed
}

// connect takes one of the connections that deliveries may hold, unless the row has one.
func (s *subscription) connect(ctx context.Context, t *task) bool {
	if t.connected {
		return true
	}
	select {
	case s.connections <- struct{}{}:
		t.connected = true
		return true
	case <-ctx.Done():
		return false
	}
}

// spoil makes a failure of an ack that cannot be: a statement in the delivery's transaction has failed, so that
// the guest has not done what it says.
func (s *subscription) spoil(t *task, r *engine.Result) *engine.Result {
	form := s.transactional()
	if form == nil || !acks(r) {
		return r
	}
	if err := form.Spoiled(t.delivery); err != nil {
		return spoiledBy(r, err)
	}
	return r
}

func acks(r *engine.Result) bool { return r.Failure == engine.None && r.Code == abi.Ack }

// spoiledBy is the failure that an ack is after a statement has failed.
func spoiledBy(r *engine.Result, err error) *engine.Result {
	failed := *r
	failed.Failure, failed.Code = engine.BadOutcome, engine.NoOutcome
	failed.Reason = "the handler acked after a statement in its transaction had failed: " + err.Error()
	return &failed
}

// conclude settles rows inside their transactions, where they have one. The settler only takes note of those.
func (s *subscription) conclude(at *seat, verdicts []verdict) []verdict {
	form := s.transactional()
	if form == nil {
		return verdicts
	}
	at.settlement.start()
	for i := range verdicts {
		s.end(form, &verdicts[i])
	}
	at.settlement.land()
	return verdicts
}

// end settles one row inside its transaction. No cancellation reaches it; it takes at most as long as an answer may.
func (s *subscription) end(form forms.Transactional, v *verdict) {
	t := v.task
	if !t.asked {
		return
	}
	defer func() {
		if t.connected {
			t.connected = false
			<-s.connections
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), answerTimeout)
	defer cancel()
	answer, ended := form.End(ctx, &v.settlement)
	switch {
	case !ended:
	case answer.State != forms.RolledBack:
		v.answer = &answer
	default:
		reason := fmt.Sprintf("the handler acked, and its transaction was not committed: %v", answer.Err)
		v.settlement, v.outcome = s.policy.failed(t.delivery, s.handler.OnFailure.Outcome, reason)
		s.log.LogAttrs(ctx, slog.LevelWarn, "the handler failed", slog.String("row", t.delivery.ID.String()),
			slog.Int64("attempt", t.delivery.Attempt), slog.String("reason", reason))
	}
}
