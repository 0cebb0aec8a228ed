package mysql

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	mysqldriver "github.com/go-sql-driver/mysql"

	"github.com/inbox-wasm/inbox-wasm/abi"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/dialect/store/sqlstore"
)

// guests says how the statements of guests run. The connector makes the connections from which a statement
// is cancelled: those of the pool may all be in use.
func guests(connector driver.Connector) *sqlstore.Guest {
	return &sqlstore.Guest{
		Kind: guestKind, Argument: guestArgument, Error: guestError,
		ChangedSQL: "SELECT ROW_COUNT()", SessionSQL: "SELECT CONNECTION_ID()",
		Cancel: func(ctx context.Context, session string) error { return kill(ctx, connector, session) },
		Leave:  []string{"ROLLBACK", "DO RELEASE_ALL_LOCKS()"},
		// A guest's statement sets nothing by itself, but may call a function that does.
		Wash: []string{settings, isolation},
	}
}

// kill ends the statement that a session runs, and not the session.
func kill(ctx context.Context, connector driver.Connector, session string) error {
	conn, err := connector.Connect(ctx)
	if err != nil {
		return err
	}
	execer, ok := conn.(driver.ExecerContext)
	if !ok {
		return errors.Join(errors.New("the driver's connection runs no statements"), conn.Close())
	}
	_, err = execer.ExecContext(ctx, "KILL QUERY "+session, nil)
	return errors.Join(err, conn.Close())
}

// guestKind follows [valueKinds]. The driver names an unsigned type as such, and hands over bits as bytes, the
// highest first.
func guestKind(typeName string, source any) (abi.ValueKind, any) {
	typeName = strings.ToLower(strings.TrimPrefix(typeName, "UNSIGNED "))
	if bits, ok := source.([]byte); ok && typeName == "bit" {
		var n uint64
		for _, b := range bits {
			n = n<<8 | uint64(b)
		}
		source = n
	}
	return valueKinds[typeName], source
}

func guestArgument(arg any) any {
	if n, ok := arg.(json.Number); ok {
		return decimal(n)
	}
	return arg
}

// decimal keeps the digits of a number, which the server compares with numbers as one.
func decimal(n json.Number) any {
	if f, err := strconv.ParseFloat(string(n), 64); err == nil && strconv.FormatFloat(f, 'g', -1, 64) == string(n) {
		return f
	}
	return string(n)
}

func guestError(err error) *store.GuestError {
	var answered *mysqldriver.MySQLError
	if !errors.As(err, &answered) {
		return nil
	}
	return &store.GuestError{Message: answered.Message, SQLState: string(answered.SQLState[:]), Number: int(answered.Number)}
}
