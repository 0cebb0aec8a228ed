package forms

import (
	"context"
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
			Nullable: flag(2), Generated: flag(3), AlwaysIdentity: flag(4),
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

// roles lists the roles that the message gives a value.
func (m *Message) roles(t *dialect.Table) []dialect.Role {
	var roles []dialect.Role
	add := func(given bool, r dialect.Role) {
		if given {
			roles = append(roles, r)
		}
	}
	add(t.Has(dialect.Payload) || m.Payload != nil, dialect.Payload)
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
		roles := messages[start].roles(w.table)
		key := fmt.Sprint(roles)
		end := start + 1
		for end < len(messages) && fmt.Sprint(messages[end].roles(w.table)) == key {
			end++
		}
		if err := w.insert(ctx, tx, roles, key, messages[start:end]); err != nil {
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

// insert writes messages that give values to the same roles.
func (w *Writer) insert(ctx context.Context, tx store.Tx, roles []dialect.Role, key string, messages []Message) error {
	if len(roles) == 0 {
		return errors.New("a message has no value for any column")
	}
	for _, r := range roles {
		if !w.table.Has(r) {
			return fmt.Errorf("a message has a value for %s, but no column of the table plays it", r)
		}
	}
	statement, ok := w.statements[key]
	if !ok {
		built := w.store.Dialect().Insert(w.table, roles)
		statement = &built
		w.statements[key] = statement
	}
	rows := make([][]any, len(messages))
	for i := range messages {
		values := make([]any, len(roles))
		for j, r := range roles {
			values[j] = w.value(&messages[i], r)
		}
		rows[i] = values
	}
	return tx.ExecEach(ctx, statement, rows)
}

func (w *Writer) value(m *Message, r dialect.Role) any {
	switch r {
	case dialect.Group:
		return m.Group
	case dialect.Headers:
		return string(m.Headers)
	case dialect.RetryAfter:
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
