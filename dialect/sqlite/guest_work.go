package sqlite

import (
	"database/sql"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	sqlitedriver "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/inbox-wasm/inbox-wasm/abi"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/dialect/store/sqlstore"
)

// guests says how the statements of guests run. The driver interrupts a statement whose context ends.
var guests = &sqlstore.Guest{Prepare: attachNothing, Kind: guestKind, Argument: guestArgument, Error: guestError, ChangedSQL: "SELECT changes()"}

// attachNothing keeps a connection to its file, should ATTACH ever get past the rules.
func attachNothing(held *sql.Conn) error {
	_, err := sqlitedriver.Limit(held, sqlite3.SQLITE_LIMIT_ATTACHED, 0)
	return err
}

// guestKind goes by the value, as [Dialect.Answered] does. The driver has made instants and booleans of the
// values of columns that are declared so.
func guestKind(typeName string, source any) (abi.ValueKind, any) {
	switch v := source.(type) {
	case int64:
		return abi.ValueInteger, v
	case float64:
		return abi.ValueFloat, v
	case bool:
		return abi.ValueBoolean, v
	case []byte:
		return abi.ValueBytes, v
	case time.Time:
		return abi.ValueTime, v.UTC().Format(time.RFC3339Nano)
	case string:
		if strings.Contains(typeName, "JSON") && json.Valid([]byte(v)) {
			return abi.ValueJSON, v
		}
	}
	return abi.ValueText, source
}

func guestArgument(arg any) any {
	if n, ok := arg.(json.Number); ok {
		if f, err := strconv.ParseFloat(string(n), 64); err == nil {
			return f // what SQLite itself makes of such a number
		}
		return string(n)
	}
	return arg
}

func guestError(err error) *store.GuestError {
	var answered *sqlitedriver.Error
	if !errors.As(err, &answered) {
		return nil
	}
	return &store.GuestError{Message: answered.Error(), Number: answered.Code()}
}
