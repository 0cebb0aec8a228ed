package dialect

import (
	"slices"
	"strings"

	"github.com/inbox-wasm/inbox-wasm/abi"
)

// Rows is a dialect's row mode: how the columns of a table without a payload are answered, so that each
// row becomes one JSON object, and how such a row is written.
type Rows interface {
	Dialect
	// Answered says how a column is answered, given its quoted name.
	Answered(c Column, name string) Answered
	// InsertRow writes one row: a value for each of the roles, and for each of the columns, which are
	// indexes into those of the table, in their order.
	InsertRow(t *Table, roles []Role, columns []int) Statement
}

// Answered is how a column is answered, as text or bytes.
type Answered struct {
	Expression string
	Kind       abi.ValueKind
	// OwnKind, where each value has a kind of its own, answers its name.
	OwnKind string
}

// RowColumns are the indexes of the columns that row mode hands over, none for a table with a payload.
// Without a list of its own a table hands over the whole row, but for the lease, which is the host's;
// with one, the key and the columns of the list.
func (t *Table) RowColumns() []int {
	if t.Has(Payload) {
		return nil
	}
	var indexes []int
	for i, c := range t.Columns {
		switch {
		case t.Data == nil && c.Name != t.Roles[LockedUntil], slices.Contains(t.Data, c.Name),
			t.Data != nil && slices.Contains(t.ID, c.Name):
			indexes = append(indexes, i)
		}
	}
	return indexes
}

// RowOutputs lists the expressions by which a claim answers the columns of row mode, behind those of the
// key and the roles, and what each of them holds.
func (g *Grammar) RowOutputs(t *Table, answered func(c Column, name string) Answered) (expressions []string, outputs []Output) {
	for _, i := range t.RowColumns() {
		v := answered(t.Columns[i], g.Quote(t.Columns[i].Name))
		if v.OwnKind != "" {
			expressions = append(expressions, v.OwnKind)
			outputs = append(outputs, Output{Field: FieldKind, Part: i})
		}
		expressions = append(expressions, v.Expression)
		outputs = append(outputs, Output{Field: FieldColumn, Part: i, Kind: v.Kind})
	}
	return expressions, outputs
}

// InsertRow implements [Rows].
func (g *Grammar) InsertRow(t *Table, roles []Role, columns []int) Statement {
	b := g.Builder()
	var names, values []string
	override := ""
	for _, r := range roles {
		names = append(names, g.Role(t, "", r))
		values = append(values, b.BindPart(Value, int(r)))
	}
	for _, i := range columns {
		names = append(names, g.Quote(t.Columns[i].Name))
		values = append(values, b.BindPart(Data, i))
		if t.Columns[i].AlwaysIdentity {
			override = g.Override(t)
		}
	}
	b.Add("INSERT INTO ", g.Table(t), " (", strings.Join(names, ", "), ")", override, " VALUES (", strings.Join(values, ", "), ")", g.skip(t))
	return b.Statement()
}
