// Package checked tests the example.
package checked

import (
	"testing"

	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
	"github.com/inbox-wasm/inbox-wasm/internal/testexample"
	"github.com/inbox-wasm/inbox-wasm/internal/testwasm"
)

func TestChecked(t *testing.T) {
	cache := t.TempDir()
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		e := testexample.New(t, db, "inbox.toml", cache)
		e.Copy("checked.wasm", testwasm.WATFile(t, "wat/checked.wat"))
		e.Run("", "schema", "--apply")
		for _, document := range []string{`{"good":true}`, "", "[1]", "{}"} {
			e.Run(document, "enqueue", "documents", "--group", "checked")
		}
		e.Run("", "serve", "--until-empty")
		e.Equal("what is left", "SELECT name, "+e.Text("attempt")+", last_error FROM documents ORDER BY id", "refused|1|the payload is empty\nrefused|1|the payload is no object\n")
	})
}
