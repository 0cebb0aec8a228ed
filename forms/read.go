package forms

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
)

// ErrNoRow is the error of a key that no row has.
var ErrNoRow = errors.New("there is no such row")

// Read reads the row of a described table with the key that [ID.String] writes so, and takes nothing: the delivery is
// as its next claim would make it, but for a row in work, whose attempt is counted already. It can not be settled.
func Read(ctx context.Context, s store.Store, t *dialect.Table, key string) (*Delivery, error) {
	d, ok := s.Dialect().(dialect.Reader)
	if !ok {
		return nil, fmt.Errorf("%s reads no single row", s.Dialect().Name())
	}
	id, err := ParseID(t, key)
	if err != nil {
		return nil, fmt.Errorf("the key %q of a row of %s: %w", key, t, err)
	}
	source := newSource(s, Options{Table: t, Now: time.Now})
	statement := d.Read(t)
	b := &bind{source: &source, one: &Settlement{Delivery: &Delivery{ID: id}}}
	c := &claimed{source: &source}
	if err := s.Query(ctx, &statement, 0, b.arguments(&statement, 0), c.read(&statement, false)); err != nil {
		return nil, fmt.Errorf("read row %s of %s: %w", key, t, err)
	}
	if len(c.rows) == 0 {
		return nil, fmt.Errorf("read row %s of %s: %w", key, t, ErrNoRow)
	}
	return c.rows[0].delivery, nil
}

// ParseID reads what [ID.String] writes. A key of one column may hold commas.
func ParseID(t *dialect.Table, text string) (ID, error) {
	columns := t.IDColumns()
	parts := []string{text}
	if len(columns) > 1 {
		if parts = strings.SplitN(text, ",", len(columns)); len(parts) != len(columns) {
			return nil, fmt.Errorf("it needs %d values with commas between them, and has %d", len(columns), len(parts))
		}
	}
	id := make(ID, len(columns))
	for i, c := range columns {
		switch c.Kind {
		case dialect.Bytes:
			b, err := hex.DecodeString(parts[i])
			if err != nil {
				return nil, fmt.Errorf("column %s takes hexadecimal digits", c.Name)
			}
			id[i] = b
		case dialect.Integer:
			if _, err := strconv.ParseInt(parts[i], 10, 64); err != nil {
				if _, err := strconv.ParseUint(parts[i], 10, 64); err != nil {
					return nil, fmt.Errorf("column %s takes an integer", c.Name)
				}
			}
			id[i] = idPart(c.Kind, []byte(parts[i]))
		default:
			id[i] = parts[i]
		}
	}
	return id, nil
}
