package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/inbox-wasm/inbox-wasm/abi"
	"github.com/inbox-wasm/inbox-wasm/dialect"
)

// Guest runs the statements of a handler's guest.
type Guest interface {
	// RunGuest runs one statement of a guest with the values of [GuestArguments] and gives its answer to a.
	// What the database answers instead is a [*GuestError]. When ctx ends first, the statement is cancelled on
	// the server and the error is ctx's.
	RunGuest(ctx context.Context, s dialect.GuestStatement, args []any, a *Answer) error
	// Wash clears what a guest's statements may have left in the session.
	Wash(ctx context.Context) error
}

// GuestWork is a [Work] that carries the statements of a handler's guest beside those of its delivery. RunGuest
// answers [ErrEnded] where the transaction is gone, though the statement should not have been able to end it.
// Wash has to wait for the transaction's end.
type GuestWork interface {
	Work
	Guest
}

// GuestSession is a [Session] for the statements of a handler's guest alone. Wash ends its transaction and
// releases its locks too.
type GuestSession interface {
	Session
	Guest
}

// GuestRequest is a statement of a guest, read and found to be one that may run.
type GuestRequest struct {
	statement dialect.GuestStatement
	args      []any
	limit     int64
}

// NewGuestRequest reads a statement and the text of its arguments. The answer may have limit bytes. The error is
// [ErrArguments], or a [*GuestError] that says why the statement may not run.
func NewGuestRequest(rules *dialect.GuestRules, sql string, args []byte, limit int64) (*GuestRequest, error) {
	values, err := GuestArguments(args)
	if err != nil {
		return nil, err
	}
	statement, err := rules.Check(sql)
	if err != nil {
		return nil, &GuestError{Message: err.Error()}
	}
	return &GuestRequest{statement, values, limit}, nil
}

// Spends reports whether the session is to be closed afterwards.
func (r *GuestRequest) Spends() bool { return r.statement.Spends }

// Run runs the statement and gives its answer as JSON. [ErrTooLarge] comes after the statement took effect.
func (r *GuestRequest) Run(ctx context.Context, g Guest) ([]byte, error) {
	answer := NewAnswer(r.limit)
	if err := g.RunGuest(ctx, r.statement, r.args, answer); err != nil {
		return nil, err
	}
	return answer.JSON()
}

// ErrEnded is the error of a statement that ended its transaction.
var ErrEnded = errors.New("the statement ended the delivery's transaction")

// GuestError is what the database says of a guest's statement.
type GuestError struct {
	Message  string
	SQLState string // empty where the database has none
	Number   int    // the server's own number, 0 where it has none
}

func (e *GuestError) Error() string {
	switch {
	case e.Number != 0 && e.SQLState == "": // SQLite
		return fmt.Sprintf("%s (error %d)", e.Message, e.Number)
	case e.Number != 0:
		return fmt.Sprintf("%s (error %d, SQLSTATE %s)", e.Message, e.Number, e.SQLState)
	case e.SQLState != "":
		return fmt.Sprintf("%s (SQLSTATE %s)", e.Message, e.SQLState)
	}
	return e.Message
}

// ErrArguments is the error of arguments that are not a JSON array.
var ErrArguments = errors.New("the arguments are not a JSON array of values")

// GuestArguments reads the arguments of a guest's statement, a JSON array or nothing, as [abi.ReadValue] does.
func GuestArguments(text []byte) ([]any, error) {
	if len(text) == 0 {
		return nil, nil
	}
	var raw []json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil || raw == nil {
		return nil, ErrArguments
	}
	args := make([]any, len(raw))
	for i, value := range raw {
		var err error
		if args[i], err = abi.ReadValue(abi.ValueAny, value); err != nil {
			return nil, fmt.Errorf("%w: argument %d: %w", ErrArguments, i+1, err)
		}
	}
	return args, nil
}

// Answer collects the answer to a guest's statement: {"columns":[..],"rows":[[..]],"affected":n}. What goes
// beyond the limit is left out, and the answer is no answer then.
type Answer struct {
	limit    int64
	text     []byte
	columns  int
	column   int
	rows     int64
	over     bool
	affected int64
	err      error
}

// NewAnswer is an answer of at most so many bytes.
func NewAnswer(limit int64) *Answer { return &Answer{limit: limit} }

// Limit is how long the answer may be, in bytes.
func (a *Answer) Limit() int64 { return a.limit }

// MaxGuestMessage is how much of an answer beyond its limit a store may read at a time, in bytes, where it has to
// read it to find out that it is too large.
const MaxGuestMessage = 16 << 20

// Columns names the columns of the rows that follow.
func (a *Answer) Columns(names []string) {
	a.text = append(a.text[:0], `{"columns":[`...)
	for i, name := range names {
		if i > 0 {
			a.text = append(a.text, ',')
		}
		a.fail(a.append(func(b []byte) ([]byte, error) { return abi.AppendText(b, name) }))
	}
	a.text = append(a.text, `],"rows":[`...)
	a.columns = len(names)
}

// Value adds the next value, row after row.
func (a *Answer) Value(kind abi.ValueKind, value []byte) {
	if a.over || a.err != nil {
		return
	}
	switch {
	case a.column > 0:
		a.text = append(a.text, ',')
	case a.rows > 0:
		a.text = append(a.text, ",["...)
	default:
		a.text = append(a.text, '[')
	}
	a.fail(a.append(func(b []byte) ([]byte, error) { return abi.AppendValue(b, kind, value) }))
	if a.column++; a.column == a.columns {
		a.column = 0
		a.rows++
		a.text = append(a.text, ']')
	}
	if a.over = int64(len(a.text)) > a.limit; a.over {
		a.text = nil
	}
}

func (a *Answer) append(write func([]byte) ([]byte, error)) (err error) {
	a.text, err = write(a.text)
	return err
}

// fail keeps the first value that has no form in JSON.
func (a *Answer) fail(err error) {
	if err != nil && a.err == nil {
		a.err = fmt.Errorf("column %d of row %d: %w", a.column+1, a.rows+1, err)
	}
}

// Rows is how many rows were answered.
func (a *Answer) Rows() int64 { return a.rows }

// Changed says how many rows the statement changed.
func (a *Answer) Changed(n int64) { a.affected = n }

// ErrTooLarge is the error of an answer beyond its limit. The statement took effect all the same.
var ErrTooLarge = errors.New("the answer is beyond the limit")

// JSON is the whole answer.
func (a *Answer) JSON() ([]byte, error) {
	if a.err != nil {
		return nil, a.err
	}
	if a.text == nil && !a.over {
		a.Columns(nil)
	}
	text := append(a.text, `],"affected":`...)
	text = append(strconv.AppendInt(text, a.affected, 10), '}')
	if a.over || int64(len(text)) > a.limit {
		return nil, ErrTooLarge
	}
	return text, nil
}
