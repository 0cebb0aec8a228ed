package sqlite

import (
	"github.com/inbox-wasm/inbox-wasm/dialect"
)

var _ dialect.Inspector = Dialect{}

// inspection is the statements for operators. A type is a suggestion here, so that a text's beginning is counted in
// characters and that of a blob in bytes, whatever its column is declared as.
func inspection(g *dialect.Grammar) *dialect.Inspection {
	return dialect.NewInspection(g, dialect.InspectionWords{
		MaxName: maxName,
		Prefix: func(_ dialect.Column, column, length string) string {
			return "substr(" + column + ", 1, " + length + ")"
		},
		Size: func(_ dialect.Column, column string) string { return "length(CAST(" + column + " AS BLOB))" },
		Swept: func(t *dialect.Table, condition, limit string) string {
			keys := g.IDs(t, "")
			return "(" + keys + ") IN (SELECT " + keys + " FROM " + g.Table(t) + " WHERE " + condition + " LIMIT " + limit + ")"
		},
	})
}
