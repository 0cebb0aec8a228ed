package forms

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"time"

	"github.com/inbox-wasm/inbox-wasm/dialect"
)

// claimed reads the rows of one claim.
type claimed struct {
	source  *source
	expires time.Time
	rows    []claimedRow
	arena   arena
	// token and group are those of the last row, which most rows share.
	token, group string
	object       rowObject
}

// claimedRow is a delivery with what it is sorted by.
type claimedRow struct {
	delivery   *Delivery
	priority   priority
	retryAfter string
}

// read decodes a row of the claim's answer. counted says that the attempt is the one after the claim.
func (c *claimed) read(s *dialect.Statement, counted bool) func([][]byte) error {
	highest := c.source.table.Column(dialect.Attempt).Max
	return func(values [][]byte) error {
		d := c.arena.delivery(len(c.source.columns))
		d.expires = c.expires
		row := claimedRow{delivery: d}
		c.object.start(c.source.table, d)
		for i, output := range s.Returns {
			v := values[i]
			switch output.Field {
			case dialect.FieldID:
				d.ID[output.Part] = idPart(c.source.columns[output.Part].Kind, v)
			case dialect.FieldToken:
				d.token = c.share(&c.token, v)
			case dialect.FieldAttempt:
				n, err := strconv.ParseInt(string(v), 10, 64)
				if err != nil {
					return fmt.Errorf("the attempt of row %s: %w", d.ID, err)
				}
				d.Attempt, d.count = around(n, highest, counted)
			case dialect.FieldGroup:
				d.Group = c.share(&c.group, v)
			case dialect.FieldPartitionKey:
				d.PartitionKey, d.HasPartitionKey = string(v), v != nil
			case dialect.FieldHeaders:
				d.Headers = c.arena.clone(v)
			case dialect.FieldPayload:
				d.Payload = c.arena.clone(v)
			case dialect.FieldPriority:
				row.priority = newPriority(v)
			case dialect.FieldRetryAfter:
				row.retryAfter = string(v)
			case dialect.FieldKind:
				c.object.ownKind(v)
			case dialect.FieldColumn:
				c.object.add(output, v)
			}
		}
		c.object.end()
		c.rows = append(c.rows, row)
		return nil
	}
}

// around is the attempt before a claim and after it, from one of the two. At the top of its type the
// attempt no longer counts, and both are the top.
func around(n, highest int64, counted bool) (before, after int64) {
	switch {
	case n >= highest:
		return n, n
	case counted:
		return n - 1, n
	default:
		return n, n + 1
	}
}

// share is the text, without a new copy where it is the last row's.
func (c *claimed) share(last *string, text []byte) string {
	if *last != string(text) {
		*last = string(text)
	}
	return *last
}

// priority sorts numbers by their size and other text by its bytes, NULL last.
type priority struct {
	null   bool
	number float64
	text   string
}

func newPriority(v []byte) priority {
	if v == nil {
		return priority{null: true}
	}
	if n, err := strconv.ParseFloat(string(v), 64); err == nil {
		return priority{number: n}
	}
	return priority{text: string(v)}
}

// claimOrder sorts rows that were claimed together as the claim chose them: a database that answers
// what it changed answers in no order. The text of a time sorts as the instant does, and no text
// before every other.
func (s *source) claimOrder(a, b claimedRow) int {
	byNull := 0
	if a.priority.null != b.priority.null {
		byNull = 1
		if b.priority.null {
			byNull = -1
		}
	}
	return cmp.Or(
		byNull,
		cmp.Compare(a.priority.number, b.priority.number),
		cmp.Compare(a.priority.text, b.priority.text),
		cmp.Compare(a.retryAfter, b.retryAfter),
		compareID(s.columns, a.delivery.ID, b.delivery.ID),
	)
}

func compareID(columns []dialect.Column, a, b ID) int {
	for i := range a {
		order := 0
		switch v := a[i].(type) {
		case int64:
			if w, ok := b[i].(int64); ok {
				order = cmp.Compare(v, w)
			}
		case string:
			if w, ok := b[i].(string); ok {
				order = compareText(columns[i].Kind, v, w)
			}
		case []byte:
			if w, ok := b[i].([]byte); ok {
				order = slices.Compare(v, w)
			}
		}
		if order != 0 {
			return order
		}
	}
	return 0
}

// compareText compares numbers by their size and other text by its bytes.
func compareText(kind dialect.Kind, a, b string) int {
	if kind == dialect.Number {
		v, isNumber := new(big.Rat).SetString(a)
		w, isNumberToo := new(big.Rat).SetString(b)
		if isNumber && isNumberToo {
			return v.Cmp(w)
		}
	}
	return cmp.Compare(a, b)
}
