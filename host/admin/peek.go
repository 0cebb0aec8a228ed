package admin

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/forms"
)

// Query says which rows of a table to list.
type Query struct {
	Group *string  // nil is every group
	State State    // empty is every state
	IDs   []string // keys, as [Row].ID; nil is every row
	// Limit is how many rows are listed, at most [MaxRows]; 0 is 20. Offset is how many are passed over.
	Limit, Offset int
	// Preview is how many bytes of a payload and characters of headers and error are read, at most [MaxPreview]; 0 is
	// 200.
	Preview int
}

// What a list is bounded by.
const (
	MaxRows    = 1000
	MaxPreview = 16 << 20
)

// Row is a row as an operator sees it.
type Row struct {
	ID           string     `json:"id"` // its columns joined by commas, bytes in hexadecimal digits
	Group        *string    `json:"group,omitempty"`
	State        State      `json:"state"`
	Attempt      *int64     `json:"attempt,omitempty"`
	Priority     *string    `json:"priority,omitempty"`
	PartitionKey *string    `json:"partition_key,omitempty"`
	RetryAfter   *time.Time `json:"retry_after,omitempty"`
	LockedUntil  *time.Time `json:"locked_until,omitempty"`
	ProcessedAt  *time.Time `json:"processed_at,omitempty"`
	CreatedAt    *time.Time `json:"created_at,omitempty"`
	Origin       *string    `json:"origin,omitempty"`
	Error        *string    `json:"error,omitempty"`
	Headers      *string    `json:"headers,omitempty"`
	Payload      []byte     `json:"payload,omitempty"`      // its beginning
	PayloadSize  *int64     `json:"payload_size,omitempty"` // in bytes; nil for NULL, and in row mode
}

// Peek lists rows in claim order, as they are at this moment, and takes none.
func (a *Admin) Peek(ctx context.Context, table string, q Query) ([]Row, error) {
	switch {
	case q.Limit < 0 || q.Limit > MaxRows:
		return nil, mistake("a list has at most %d rows, and %d were asked for", MaxRows, q.Limit)
	case q.Offset < 0:
		return nil, mistake("the offset %d is negative", q.Offset)
	case q.Preview < 0 || q.Preview > MaxPreview:
		return nil, mistake("a preview has at most %d bytes, and %d were asked for", MaxPreview, q.Preview)
	case q.State != "" && !slices.Contains(States(), q.State):
		return nil, mistake("a row is never %q; it is one of %v", q.State, States())
	}
	_, sel, err := a.selects(table, q.State, q.Group)
	if err != nil {
		return nil, err
	}
	sel.limit, sel.offset, sel.preview = orDefault(q.Limit, 20), q.Offset, orDefault(q.Preview, 200)
	if q.IDs == nil {
		return a.list(ctx, sel)
	}
	ids, err := keys(sel.table, q.IDs)
	if err != nil {
		return nil, err
	}
	rows := []Row{}
	for _, sel.id = range ids {
		sel.Key = true
		found, err := a.list(ctx, sel)
		if err != nil {
			return nil, err
		}
		rows = append(rows, found...)
	}
	return rows, nil
}

func orDefault(n, fallback int) int {
	if n == 0 {
		return fallback
	}
	return n
}

func (a *Admin) list(ctx context.Context, sel *selection) ([]Row, error) {
	statement := a.dialect.List(sel.table, sel.Where)
	rows := []Row{}
	err := a.store.Query(ctx, &statement, 0, a.arguments(&statement, sel), func(v [][]byte) error {
		row, err := read(sel.table, v)
		rows = append(rows, row)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list rows of %s: %w", sel.table, err)
	}
	return rows, nil
}

// read reads a row of [dialect.Inspector.List].
func read(t *dialect.Table, v [][]byte) (Row, error) {
	key := len(t.ID)
	row := Row{ID: forms.NewID(t.IDColumns(), v[:key]).String(), State: State(v[key])}
	v = v[key+1:]
	for i, r := range dialect.ListedRoles(t) {
		switch r {
		case dialect.Group:
			row.Group = optional(v[i])
		case dialect.Priority:
			row.Priority = optional(v[i])
		case dialect.PartitionKey:
			row.PartitionKey = optional(v[i])
		case dialect.RetryAfter:
			row.RetryAfter = instant(v[i])
		case dialect.Attempt:
			if n, err := strconv.ParseInt(string(v[i]), 10, 64); err == nil {
				row.Attempt = &n
			}
		case dialect.ProcessedAt:
			row.ProcessedAt = instant(v[i])
		case dialect.LockedUntil:
			row.LockedUntil = instant(v[i])
		case dialect.Headers:
			row.Headers = optional(v[i])
		case dialect.Error:
			row.Error = optional(v[i])
		case dialect.Origin:
			row.Origin = optional(v[i])
		case dialect.CreatedAt:
			row.CreatedAt = instant(v[i])
		}
	}
	if !t.Has(dialect.Payload) {
		return row, nil
	}
	payload, size := v[len(v)-2], v[len(v)-1]
	if size == nil {
		return row, nil
	}
	n, err := strconv.ParseInt(string(size), 10, 64)
	if err != nil {
		return row, fmt.Errorf("the size of a payload: %w", err)
	}
	row.Payload, row.PayloadSize = append([]byte{}, payload...), &n
	return row, nil
}
