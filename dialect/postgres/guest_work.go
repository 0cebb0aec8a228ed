package postgres

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/inbox-wasm/inbox-wasm/abi"
	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
)

var (
	_ store.GuestWork    = (*work)(nil)
	_ store.GuestSession = (*heldSession)(nil)
)

// cancelIn bounds the cancellation of a statement. A connection on which it takes longer is closed.
const cancelIn = 2 * time.Second

// RunGuest implements [store.GuestWork].
func (w *work) RunGuest(ctx context.Context, s dialect.GuestStatement, args []any, a *store.Answer) error {
	if err := w.session.RunGuest(ctx, s, args, a); err != nil {
		return err
	}
	if w.conn.PgConn().TxStatus() != 'T' {
		return store.ErrEnded
	}
	return nil
}

// RunGuest implements [store.Guest]. The arguments and the answer travel as text: the server knows the types
// that the arguments meet, and the text of a value has one form.
func (c session) RunGuest(ctx context.Context, s dialect.GuestStatement, args []any, a *store.Answer) error {
	running, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	conn := c.conn.PgConn()
	// A message is read whole, however much of it the answer takes. The connection of one that is larger is lost.
	conn.Frontend().SetMaxBodyLen(int(min(store.MaxGuestMessage+2*a.Limit(), math.MaxInt32)))
	defer conn.Frontend().SetMaxBodyLen(0)
	cancelled := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(cancelled)
		time.AfterFunc(cancelIn, cut) // after the call it cuts nothing
		bounded, end := context.WithTimeout(running, cancelIn)
		defer end()
		if conn.CancelRequest(bounded) != nil {
			cut()
		}
	})
	err := runGuest(running, conn, s, args, a)
	if !stop() {
		// Nothing of the cancellation may meet the connection's next statement.
		<-cancelled
	}
	var answered *pgconn.PgError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &answered) && !conn.IsClosed():
		return &store.GuestError{Message: answered.Message, SQLState: answered.Code}
	}
	return err
}

func runGuest(ctx context.Context, conn *pgconn.PgConn, s dialect.GuestStatement, args []any, a *store.Answer) error {
	values := make([][]byte, len(args))
	for i, arg := range args {
		values[i] = guestArgument(arg)
	}
	reader := conn.ExecParams(ctx, s.SQL, values, nil, nil, nil)
	var failed error
	for described := false; reader.NextRow(); {
		fields := reader.FieldDescriptions()
		if !described {
			described = true
			describe(a, fields)
		}
		for i, v := range reader.Values() {
			kind := guestKinds[fields[i].DataTypeOID]
			if kind == abi.ValueBytes {
				decoded, err := bytesOf(v)
				failed = errors.Join(failed, err)
				v = decoded
			}
			a.Value(kind, v)
		}
	}
	if a.Rows() == 0 {
		describe(a, reader.FieldDescriptions())
	}
	tag, err := reader.Close()
	if !tag.Select() {
		a.Changed(tag.RowsAffected())
	}
	return errors.Join(err, failed)
}

func describe(a *store.Answer, fields []pgconn.FieldDescription) {
	names := make([]string, len(fields))
	for i, field := range fields {
		names[i] = field.Name
	}
	a.Columns(names)
}

// guestKinds are those of [valueKinds], by the types' numbers.
var guestKinds = map[uint32]abi.ValueKind{
	pgtype.Int2OID: abi.ValueInteger, pgtype.Int4OID: abi.ValueInteger, pgtype.Int8OID: abi.ValueInteger, pgtype.OIDOID: abi.ValueInteger,
	pgtype.NumericOID: abi.ValueNumber, pgtype.Float4OID: abi.ValueFloat, pgtype.Float8OID: abi.ValueFloat,
	pgtype.BoolOID: abi.ValueBoolean, pgtype.ByteaOID: abi.ValueBytes,
	pgtype.TimestamptzOID: abi.ValueTime, pgtype.TimestampOID: abi.ValueTime,
	pgtype.JSONOID: abi.ValueJSON, pgtype.JSONBOID: abi.ValueJSON,
}

// guestArgument is an argument as the server reads it, whatever type it meets; nil is NULL.
func guestArgument(arg any) []byte {
	switch v := arg.(type) {
	case string:
		return []byte(v)
	case json.Number:
		return []byte(v)
	case int64:
		return strconv.AppendInt(nil, v, 10)
	case bool:
		return strconv.AppendBool(nil, v)
	case []byte:
		return hex.AppendEncode([]byte(`\x`), v)
	}
	return nil
}

// wash is DISCARD ALL (PostgreSQL documentation, DISCARD) but for the prepared statements, which are the
// connection's own. The settings go back to those that it was opened with.
const wash = "CLOSE ALL; SET SESSION AUTHORIZATION DEFAULT; RESET ALL; UNLISTEN *; SELECT pg_advisory_unlock_all(); " +
	"DISCARD TEMP; DISCARD SEQUENCES"

// Wash implements [store.Guest]. The rollback of a transaction that the guest has left open travels with the rest.
func (c session) Wash(ctx context.Context) error {
	text := wash
	if c.conn.PgConn().TxStatus() != 'I' {
		text = "ROLLBACK; " + wash
	}
	if _, err := c.conn.Exec(ctx, text); err != nil {
		return err
	}
	return exactFloats(ctx, c.conn)
}
