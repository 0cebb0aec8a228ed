package engine

import (
	"strings"
	"testing"

	"github.com/inbox-wasm/inbox-wasm/internal/testwasm"
)

// grows answers 0 where a table of 10 can grow by half a million and not by 500 million, which would take
// 4 GiB.
func grows(tables string) string {
	return `(module (memory (export "memory") 1) ` + tables + `
	  (func (export "inbox_handle") (result i32)
	    (if (i32.ne (table.grow 0 (ref.null func) (i32.const 500000000)) (i32.const -1)) (then (return (i32.const 3))))
	    (if (i32.ne (table.grow 0 (ref.null func) (i32.const 500000)) (i32.const 10)) (then (return (i32.const 1))))
	    (i32.const 0)))`
}

func TestTablesAreBounded(t *testing.T) {
	e := newEngine(t, Options{})
	for tables, want := range map[string]int{
		`(table 10 funcref)`:                                   0,
		`(table 10 4000000000 funcref)`:                        0,
		`(table 10 100 funcref)`:                               1, // the module's own maximum stays
		`(table 10 funcref) (table 3 funcref)`:                 0,
		`(table 10 funcref) (table 1048000 funcref)`:           1, // there is no room left
		`(table 10 funcref) (func $f) (elem (i32.const 3) $f)`: 0,
	} {
		m := load(t, e, "tables", testwasm.WAT(t, grows(tables)), Limits{Memory: 1 << 20})
		if r := instance(t, m, Settings{}).Handle(t.Context(), &Message{}); r.Failure != None || int(r.Code) != want {
			t.Errorf("%s: %+v", tables, r)
		}
	}
	_, err := e.LoadBytes(t.Context(), "tables", testwasm.WAT(t, grows(`(table 10 funcref) (table 100000000 funcref)`)), Limits{})
	if err == nil || err.Error() != "module tables has tables of 100000010 entries, and the most is 1048576" {
		t.Error(err)
	}
}

// What the module must not have is not rewritten but refused.
func TestUnknownTables(t *testing.T) {
	for section, want := range map[string]string{
		"\x04\x04\x01\x63\x00\x01":     "table of element type 0x63",
		"\x04\x04\x01\x70\x02\x01":     "table limits 0x02",
		"\x04\x03\x01\x70\x01":         "unexpected end",
		"\x04\x06\x01\x70\x01\x01\xff": "unexpected end",
	} {
		_, err := parse([]byte("\x00asm\x01\x00\x00\x00" + section))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("% x: %v", section, err)
		}
	}
}
