package forms

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/inbox-wasm/inbox-wasm/abi"
	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
)

// rowWriter writes the columns that a message names itself.
type rowWriter struct {
	dialect dialect.Rows
	table   *dialect.Table
}

func newRowWriter(s store.Store, t *dialect.Table) (*rowWriter, error) {
	d, ok := s.Dialect().(dialect.Rows)
	if !ok {
		return nil, fmt.Errorf("%s has no row mode", s.Dialect().Name())
	}
	return &rowWriter{dialect: d, table: t}, nil
}

// columns are the indexes of a row's columns, in the order of their names.
func (w *rowWriter) columns(row map[string]json.RawMessage) ([]int, error) {
	var indexes []int
	for _, name := range slices.Sorted(maps.Keys(row)) {
		i := slices.IndexFunc(w.table.Columns, func(c dialect.Column) bool { return c.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("a message has a value for column %q, which the table does not have", name)
		}
		indexes = append(indexes, i)
	}
	return indexes, nil
}

// value is what is bound for a column.
func (w *rowWriter) value(column int, text json.RawMessage) (any, error) {
	c := w.table.Columns[column]
	kind := w.dialect.Answered(c, c.Name).Kind
	v, err := abi.ReadValue(kind, text)
	if err != nil {
		return nil, fmt.Errorf("the value for column %q: %w", c.Name, err)
	}
	switch v := v.(type) {
	case bool:
		return boundBool(kind, v), nil
	case int64:
		if kind == abi.ValueInteger || kind == abi.ValueAny {
			return v, nil
		}
		return strconv.FormatInt(v, 10), nil
	case json.Number:
		return boundNumber(kind, v), nil
	case time.Time:
		return w.dialect.FormatTime(v, c.Precision), nil
	}
	return v, nil
}

// boundNumber is the number's digits, which every column of numbers takes, but for two that would keep
// them as the text they are: one of bits, and one that keeps the kind that it is given.
func boundNumber(kind abi.ValueKind, v json.Number) any {
	if n, err := strconv.ParseUint(string(v), 10, 64); err == nil && kind == abi.ValueInteger {
		return n
	}
	if f, err := v.Float64(); err == nil && kind == abi.ValueAny {
		return f
	}
	return string(v)
}

// boundBool is a number but where the database has booleans, or the column holds text.
func boundBool(kind abi.ValueKind, v bool) any {
	switch {
	case kind == abi.ValueBoolean, kind == abi.ValueText:
		return strconv.FormatBool(v)
	case v:
		return int64(1)
	}
	return int64(0)
}
