package postgres

import (
	"strings"

	"github.com/inbox-wasm/inbox-wasm/dialect"
)

var _ dialect.Rights = Dialect{}

// Lacks implements [dialect.Rights]. A right on some columns counts: which of them a statement needs
// is for the server to say.
func (Dialect) Lacks(t *dialect.Table, rights []dialect.Right) dialect.Statement {
	quoted := make([]string, len(rights))
	for i, r := range rights {
		quoted[i] = literal(string(r))
	}
	name := literal(grammar.Table(t))
	return dialect.Statement{SQL: "SELECT r FROM unnest(ARRAY[" + strings.Join(quoted, ", ") + "]::text[]) AS r " +
		"WHERE NOT CASE WHEN r = 'DELETE' THEN has_table_privilege(" + name + ", r) ELSE has_any_column_privilege(" + name + ", r) END"}
}
