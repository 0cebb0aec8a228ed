package forms

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
)

// ErrNoTable is the error of Describe for a table that is not there.
var ErrNoTable = errors.New("no such table")

// Describe asks the database for the columns of a table and fills them in.
func Describe(ctx context.Context, s store.Store, t *dialect.Table) error {
	d := s.Dialect()
	statement := d.Describe(t)
	t.Columns, t.Partitioned = nil, false
	err := s.Query(ctx, &statement, 0, nil, func(v [][]byte) error {
		flag := func(i int) bool { return string(v[i]) == "1" }
		c := dialect.Column{
			Name: string(v[0]), Type: string(v[1]), Kind: d.Kind(string(v[1])),
			Nullable: flag(2), Generated: flag(3), AlwaysIdentity: flag(4), Primary: len(v) > 7 && flag(7),
		}
		if c.Kind == dialect.Integer {
			c.Max = d.MaxInteger(c.Type)
		}
		if v[5] != nil {
			precision, err := strconv.Atoi(string(v[5]))
			if err != nil {
				return fmt.Errorf("column %q: precision %q: %w", c.Name, v[5], err)
			}
			c.Precision = precision
		}
		t.Partitioned = t.Partitioned || flag(6)
		t.Columns = append(t.Columns, c)
		return nil
	})
	if err != nil {
		return fmt.Errorf("describe table %s: %w", t, err)
	}
	if len(t.Columns) == 0 {
		return fmt.Errorf("describe table %s: %w", t, ErrNoTable)
	}
	return nil
}

// Message is a row to be written.
type Message struct {
	// Payload is written where the table has a payload column.
	Payload []byte
	// Row gives columns their values, as JSON, in place of a payload. Its value for a column that plays
	// a role stands before that of the field here.
	Row map[string]json.RawMessage
	// Group is written unless it is empty.
	Group string
	// Headers is a JSON object, or nil.
	Headers []byte
	// Delay hides the row; it needs a retry_after column.
	Delay time.Duration
	// Priority and PartitionKey are written unless they are nil.
	Priority     *int64
	PartitionKey *string
}

// Size is about how many bytes the message has.
func (m *Message) Size() int {
	n := len(m.Payload)
	for _, value := range m.Row {
		n += len(value)
	}
	return n
}

// roles lists the roles that the message gives a value, and its row does not.
func (m *Message) roles(t *dialect.Table) []dialect.Role {
	var roles []dialect.Role
	add := func(given bool, r dialect.Role) {
		if _, own := m.Row[t.Roles[r]]; given && (!own || !t.Has(r)) {
			roles = append(roles, r)
		}
	}
	add(m.Row == nil && (t.Has(dialect.Payload) || m.Payload != nil), dialect.Payload)
	add(m.Group != "", dialect.Group)
	add(m.Headers != nil, dialect.Headers)
	add(m.Delay > 0, dialect.RetryAfter)
	add(m.Priority != nil, dialect.Priority)
	add(m.PartitionKey != nil, dialect.PartitionKey)
	return roles
}

// Writer inserts messages into one table.
type Writer struct {
	store      store.Store
	table      *dialect.Table
	now        func() time.Time
	statements map[string]*dialect.Statement
	rows       *rowWriter
	notify     *dialect.Statement
}

// NewWriter writes into a described table. A Writer is used by one goroutine at a time.
func NewWriter(s store.Store, t *dialect.Table, now func() time.Time) *Writer {
	return &Writer{store: s, table: t, now: now, statements: map[string]*dialect.Statement{}}
}

// Announce makes the writer tell listeners of each group that it writes, where the database can.
func (w *Writer) Announce() {
	if d, ok := w.store.Dialect().(dialect.Notifies); ok {
		statement := d.Notify(w.table)
		w.notify = &statement
	}
}

// Write inserts all of the messages in one transaction, or none of them.
func (w *Writer) Write(ctx context.Context, messages []Message) (err error) {
	tx, err := w.store.Begin(ctx)
	if err != nil {
		return fmt.Errorf("write into %s: %w", w.table, err)
	}
	defer func() { err = errors.Join(err, tx.Rollback()) }()
	for start := 0; start < len(messages); {
		shape, err := w.shape(&messages[start])
		if err != nil {
			return fmt.Errorf("write into %s: %w", w.table, err)
		}
		end := start + 1
		for end < len(messages) {
			if next, err := w.shape(&messages[end]); err != nil || next.key != shape.key {
				break
			}
			end++
		}
		if err := w.insert(ctx, tx, shape, messages[start:end]); err != nil {
			return fmt.Errorf("write into %s: %w", w.table, err)
		}
		start = end
	}
	if err := w.announce(ctx, tx, messages); err != nil {
		return fmt.Errorf("announce rows of %s: %w", w.table, err)
	}
	if err := tx.Commit(ctx); err != nil {
		return fmt.Errorf("write into %s: commit: %w", w.table, err)
	}
	return nil
}

// announce tells of each group once, when the transaction commits.
func (w *Writer) announce(ctx context.Context, tx store.Tx, messages []Message) error {
	if w.notify == nil {
		return nil
	}
	groups := map[string]bool{}
	for i := range messages {
		if group := messages[i].Group; !groups[group] {
			groups[group] = true
			if err := tx.Query(ctx, w.notify, 0, []any{group}, nothing); err != nil {
				return err
			}
		}
	}
	return nil
}

// shape is what a message gives values to.
type shape struct {
	roles   []dialect.Role
	columns []int
	key     string
}

func (w *Writer) shape(m *Message) (s shape, err error) {
	s.roles = m.roles(w.table)
	for _, r := range s.roles {
		if !w.table.Has(r) {
			return s, fmt.Errorf("a message has a value for %s, but no column of the table plays it", r)
		}
	}
	if m.Row != nil {
		if w.rows == nil {
			if w.rows, err = newRowWriter(w.store, w.table); err != nil {
				return s, err
			}
		}
		if s.columns, err = w.rows.columns(m.Row); err != nil {
			return s, err
		}
	}
	if len(s.roles)+len(s.columns) == 0 {
		return s, errors.New("a message has no value for any column")
	}
	s.key = fmt.Sprint(s.roles, s.columns)
	return s, nil
}

// insert writes messages of one shape.
func (w *Writer) insert(ctx context.Context, tx store.Tx, s shape, messages []Message) error {
	statement, ok := w.statements[s.key]
	if !ok {
		built := w.statement(s)
		statement = &built
		w.statements[s.key] = statement
	}
	rows := make([][]any, len(messages))
	for i := range messages {
		var err error
		if rows[i], err = w.values(s, &messages[i]); err != nil {
			return err
		}
	}
	return tx.ExecEach(ctx, statement, rows)
}

// values are what a message of a shape binds.
func (w *Writer) values(s shape, m *Message) ([]any, error) {
	values := make([]any, 0, len(s.roles)+len(s.columns))
	for _, r := range s.roles {
		values = append(values, w.value(m, r))
	}
	for _, column := range s.columns {
		v, err := w.rows.value(column, m.Row[w.table.Columns[column].Name])
		if err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	return values, nil
}

// WriteIn inserts a message in the transaction of a delivery, as a statement of its guest: it is there with the ack
// alone.
func (w *Writer) WriteIn(ctx context.Context, in Runner, d *Delivery, m *Message) error {
	s, err := w.shape(m)
	if err != nil {
		return fmt.Errorf("write into %s: %w", w.table, err)
	}
	values, err := w.values(s, m)
	if err != nil {
		return fmt.Errorf("write into %s: %w", w.table, err)
	}
	for i, v := range values {
		if b, ok := v.([]byte); ok {
			values[i] = map[string][]byte{"base64": b}
		}
	}
	run := func(sql string, values ...any) error {
		args, err := json.Marshal(values)
		if err != nil {
			return err
		}
		_, err = in.Run(ctx, d, Call{SQL: sql, Args: args, Limit: maxWritten, Trusted: true})
		return err
	}
	statement := w.statement(s)
	if err := run(statement.SQL, values...); err != nil {
		return fmt.Errorf("write into %s: %w", w.table, err)
	}
	if w.notify == nil {
		return nil
	}
	if err := run(w.notify.SQL, m.Group); err != nil {
		return fmt.Errorf("announce a row of %s: %w", w.table, err)
	}
	return nil
}

// maxWritten is more than the answer to an insert has, in bytes.
const maxWritten = 4 << 10

func (w *Writer) statement(s shape) dialect.Statement {
	if s.columns == nil {
		return w.store.Dialect().Insert(w.table, s.roles)
	}
	return w.rows.dialect.InsertRow(w.table, s.roles, s.columns)
}

func (w *Writer) value(m *Message, r dialect.Role) any {
	switch r {
	case dialect.Group:
		return m.Group
	case dialect.Headers:
		return string(m.Headers)
	case dialect.RetryAfter:
		if w.table.DatabaseClock {
			return m.Delay.Microseconds()
		}
		return w.store.Dialect().FormatTime(w.now().Add(m.Delay), w.table.Column(r).Precision)
	case dialect.Priority:
		return *m.Priority
	case dialect.PartitionKey:
		return *m.PartitionKey
	default:
		switch {
		case w.table.Column(r).Kind != dialect.Bytes:
			return string(m.Payload)
		case m.Payload == nil:
			return []byte{}
		default:
			return m.Payload
		}
	}
}

// Unnamed counts the rows of a described table whose key names none: no claim takes them, because no settlement
// would find them.
func Unnamed(ctx context.Context, s store.Store, t *dialect.Table) (n int64, err error) {
	statement := s.Dialect().Unnamed(t)
	if statement.SQL == "" {
		return 0, nil
	}
	err = s.Query(ctx, &statement, 0, nil, func(v [][]byte) error {
		n, err = strconv.ParseInt(string(v[0]), 10, 64)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("count the rows of table %s that have no key: %w", t, err)
	}
	return n, nil
}
