package sqlite

import (
	"database/sql"
	"encoding/json"
	"errors"
	"math"
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
var guests = &sqlstore.Guest{Bound: bound, Kind: guestKind, Argument: guestArgument, Error: guestError, ChangedSQL: "SELECT changes()"}

// bound keeps a connection to its file, should ATTACH ever get past the rules, and the values that a statement makes
// in this process's memory to a size.
func bound(held *sql.Conn, limit int64) (release func() error, err error) {
	if _, err := sqlitedriver.Limit(held, sqlite3.SQLITE_LIMIT_ATTACHED, 0); err != nil {
		return nil, err
	}
	most := int(min(store.MaxGuestMessage+2*limit, math.MaxInt32))
	before, err := sqlitedriver.Limit(held, sqlite3.SQLITE_LIMIT_LENGTH, most)
	if err != nil {
		return nil, err
	}
	return func() error {
		_, err := sqlitedriver.Limit(held, sqlite3.SQLITE_LIMIT_LENGTH, before)
		return err
	}, nil
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
