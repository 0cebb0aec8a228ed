package inbox

import (
	"encoding/json"
	"fmt"

	"github.com/inbox-wasm/inbox-wasm/guest-sdk/go/internal/host"
)

// Tx is the transaction of the delivery, for a handler with transactional = true and
// allow = { db = "tx" }: what the handler writes in it is committed by its ack together
// with the row's end, and rolled back by every other end.
//
//	func handle(m *inbox.Message) error {
//		_, err := inbox.Tx.Exec("INSERT INTO mails (recipient) VALUES ($1)", string(m.Payload()))
//		return err
//	}
//
// After a statement has failed, the delivery can no longer be acked. A handler that does
// not use it imports nothing for it.
var Tx = Conn{1}

// Pool is the thread's own connections, for a handler with allow = { db = "pool" }: a
// statement commits on its own, whatever becomes of the message. The statements of one
// call share a session, where BEGIN and COMMIT do what they say; what is left in it, a
// transaction, a setting or a lock, is gone before the next call.
var Pool = Conn{0}

// Conn is a connection of the handler to the database.
type Conn struct{ number int32 }

// Exec runs one statement and returns how many rows it changed.
//
// Arguments are nil, bool, numbers, string, []byte, time.Time, json.RawMessage, and
// whatever else encodes as JSON, which arrives as its JSON text.
func (c Conn) Exec(sql string, args ...any) (affected int64, err error) {
	rows, err := c.Query(sql, args...)
	if err != nil {
		return 0, err
	}
	return rows.Affected, nil
}

// Query runs one statement and returns all of its rows.
func (c Conn) Query(sql string, args ...any) (*Rows, error) {
	values := make([]any, len(args))
	for i, arg := range args {
		values[i] = argument(arg)
	}
	text := []byte{}
	if len(args) > 0 {
		var err error
		if text, err = json.Marshal(values); err != nil {
			return nil, fmt.Errorf("inbox: encode the arguments: %w", err)
		}
	}
	length := host.DB(c.number, sql, string(text))
	if length < 0 && length != failed {
		return nil, &SQLError{Message: refusal(length), Code: int(length)}
	}
	answer, exists := read("result", make([]byte, 0, max(int(length), 256)), host.Result)
	if !exists {
		return nil, &SQLError{Message: "the host could not run the statement", Code: int(length)}
	}
	if length == failed {
		e := &SQLError{Code: int(length)}
		if err := json.Unmarshal(answer, e); err != nil {
			e.Message = string(answer)
		}
		return nil, e
	}
	rows := &Rows{}
	if err := json.Unmarshal(answer, rows); err != nil {
		return nil, fmt.Errorf("inbox: the host's result is not what the contract says: %w", err)
	}
	return rows, nil
}

// What db answers for a statement that failed, and for one that was not run.
const (
	badArgument    int32 = -2
	notAllowed     int32 = -3
	failed         int32 = -4
	deadlinePassed int32 = -5
	tooLarge       int32 = -6
)

func refusal(code int32) string {
	switch code {
	case badArgument:
		return "the statement or its arguments are not UTF-8"
	case notAllowed:
		return `the handler may not use this connection: see allow.db in inbox.toml`
	case deadlinePassed:
		return "the deadline passed"
	case tooLarge:
		return "the answer is beyond limits.db_result, though the statement took effect"
	}
	return hostError("db", code)
}

// argument is a value as the contract has it in JSON.
func argument(arg any) any {
	if b, ok := arg.([]byte); ok && b != nil {
		return map[string][]byte{"base64": b}
	}
	return arg
}

// Rows is the answer to a statement.
type Rows struct {
	Columns  []string `json:"columns"`
	Rows     []Row    `json:"rows"`
	Affected int64    `json:"affected"` // rows that the statement changed
}

// Row is the values of one row, each as JSON text.
type Row []json.RawMessage

// Scan decodes the values in their order. A value decodes as JSON does, bytes into a
// []byte and an instant into a time.Time; NULL leaves nil in a pointer and what is
// there in any other target.
func (r Row) Scan(targets ...any) error {
	if len(targets) != len(r) {
		return fmt.Errorf("inbox: %d targets for %d columns", len(targets), len(r))
	}
	for i, target := range targets {
		if err := scan(r[i], target); err != nil {
			return fmt.Errorf("inbox: column %d: %w", i+1, err)
		}
	}
	return nil
}

func scan(value json.RawMessage, target any) error {
	b, isBytes := target.(*[]byte)
	if !isBytes || string(value) == "null" {
		return json.Unmarshal(value, target)
	}
	var encoded struct {
		Base64 *[]byte `json:"base64"`
	}
	if err := json.Unmarshal(value, &encoded); err == nil && encoded.Base64 != nil {
		*b = *encoded.Base64
		return nil
	}
	*b = []byte(plain(value))
	return nil
}

// SQLError is why a statement failed.
type SQLError struct {
	Message  string `json:"message"`
	SQLState string `json:"sqlstate"` // empty where the database has none
	Number   int    `json:"number"`   // the server's own number, 0 where it has none
	Code     int    `json:"-"`        // what the host's function returned
}

func (e *SQLError) Error() string {
	switch {
	case e.Number != 0:
		return fmt.Sprintf("sql: %s (%d)", e.Message, e.Number)
	case e.SQLState != "":
		return fmt.Sprintf("sql: %s (%s)", e.Message, e.SQLState)
	}
	return "sql: " + e.Message
}
