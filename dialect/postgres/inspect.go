package postgres

import (
	"github.com/inbox-wasm/inbox-wasm/dialect"
)

var (
	_ dialect.Inspector = Dialect{}
	_ dialect.Witness   = Dialect{}
)

var inspection = dialect.NewInspection(&grammar, dialect.InspectionWords{
	LockClause: " FOR UPDATE SKIP LOCKED",
	MaxName:    maxName,
	Prefix: func(c dialect.Column, column, length string) string {
		if c.Kind == dialect.Bytes {
			return "substring(" + column + " from 1 for " + length + "::integer)"
		}
		return "left(" + column + "::text, " + length + "::integer)"
	},
	Size: func(c dialect.Column, column string) string {
		if c.Kind == dialect.Bytes {
			return "octet_length(" + column + ")"
		}
		return "octet_length(" + column + "::text)"
	},
	Swept: func(t *dialect.Table, condition, limit string) string {
		chosen := func(columns string) string {
			return "SELECT " + columns + " FROM " + grammar.Table(t) + " WHERE " + condition + " LIMIT " + limit + "::bigint FOR UPDATE SKIP LOCKED"
		}
		if t.Partitioned {
			return "(" + grammar.IDs(t, "") + ") IN (" + chosen(grammar.IDs(t, "")) + ")"
		}
		return "ctid = ANY(ARRAY(" + chosen("ctid") + "))"
	},
})

// Sessions implements [dialect.Witness].
func (Dialect) Sessions() dialect.Statement {
	return dialect.Statement{SQL: `SELECT application_name::text, COALESCE(host(client_addr), 'local'), count(*)::text, ` +
		`(count(*) FILTER (WHERE state = 'active'))::text, count(xact_start)::text, ` +
		`extract(epoch FROM clock_timestamp() - min(xact_start))::text FROM pg_stat_activity ` +
		`WHERE datname = current_database() AND application_name LIKE 'inbox-wasm%' AND pid <> pg_backend_pid() GROUP BY 1, 2 ORDER BY 1, 2`}
}
