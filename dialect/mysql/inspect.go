package mysql

import (
	"github.com/inbox-wasm/inbox-wasm/dialect"
)

var (
	_ dialect.Inspector = Dialect{}
	_ dialect.Witness   = Dialect{}
)

// inspection is the statements for operators. A text's beginning is counted in characters.
func inspection(g *dialect.Grammar) *dialect.Inspection {
	return dialect.NewInspection(g, dialect.InspectionWords{
		LockClause: " FOR UPDATE SKIP LOCKED",
		MaxName:    maxName,
		Prefix: func(c dialect.Column, column, length string) string {
			if c.Kind == dialect.JSON {
				column = g.Text(column)
			}
			return "LEFT(" + column + ", " + length + ")"
		},
		Size:  func(_ dialect.Column, column string) string { return "OCTET_LENGTH(" + column + ")" },
		Swept: func(_ *dialect.Table, condition, limit string) string { return condition + " LIMIT " + limit },
	})
}

// Sessions implements [dialect.Witness]. The server names no programs: these are the sessions on this database that the
// user may see, by user and address. Which are in a transaction it tells those alone who may see every process.
func (Dialect) Sessions() dialect.Statement {
	return dialect.Statement{SQL: "SELECT USER, SUBSTRING_INDEX(HOST, ':', 1), CAST(COUNT(*) AS CHAR), CAST(SUM(COMMAND <> 'Sleep') AS CHAR), NULL, NULL " +
		"FROM information_schema.PROCESSLIST WHERE DB = DATABASE() AND ID <> CONNECTION_ID() GROUP BY 1, 2 ORDER BY 1, 2"}
}
