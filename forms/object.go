package forms

import (
	"fmt"
	"slices"

	"github.com/inbox-wasm/inbox-wasm/abi"
	"github.com/inbox-wasm/inbox-wasm/dialect"
)

// rowObject makes the payload of row mode, one JSON object with a member for each column that is handed
// over. It is used for one row after the other.
type rowObject struct {
	table    *dialect.Table
	delivery *Delivery
	text     []byte
	kind     abi.ValueKind
	// own says that the next value has the kind in kind, whatever its column's.
	own bool
}

func (o *rowObject) start(t *dialect.Table, d *Delivery) {
	o.table, o.delivery, o.text, o.own = t, d, o.text[:0], false
}

// ownKind takes the kind of the value that comes next; NULL has none.
func (o *rowObject) ownKind(name []byte) { o.kind, o.own = abi.ValueKindOf(string(name)) }

// add writes a column. The attempt reads as the delivery's does, whatever the claim has counted.
func (o *rowObject) add(output dialect.Output, value []byte) {
	if o.delivery.Flaw != "" {
		return
	}
	c := &o.table.Columns[output.Part]
	separator := byte(',')
	if len(o.text) == 0 {
		separator = '{'
	}
	kind := output.Kind
	if o.own {
		kind, o.own = o.kind, false
		if value == nil {
			value = []byte{} // a driver's word for no characters and no bytes: NULL has no kind
		}
	}
	text, err := abi.AppendText(append(o.text, separator), c.Name)
	if err == nil {
		text = append(text, ':')
		if o.table.Roles[dialect.Attempt] == c.Name {
			text = fmt.Append(text, o.delivery.Attempt)
		} else {
			text, err = abi.AppendValue(text, kind, value)
		}
	}
	if err != nil {
		o.delivery.Flaw = fmt.Sprintf("column %q cannot be handed over: %v", c.Name, err)
	}
	o.text = text
}

// end gives the delivery its payload, where the table is in row mode.
func (o *rowObject) end() {
	if len(o.text) == 0 || o.delivery.Flaw != "" {
		return
	}
	o.text = append(o.text, '}')
	o.delivery.Payload = slices.Clone(o.text)
}
