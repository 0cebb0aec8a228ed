package sqlite

import "github.com/inbox-wasm/inbox-wasm/dialect"

// maxName keeps the names of indexes readable; SQLite itself has no limit.
const maxName = 128

// CheckVersion implements [dialect.Dialect]: the library is the program's own.
func (Dialect) CheckVersion(string) error { return nil }

// Indexes implements [dialect.Dialect]. The key of a rowid table has no index of its own and is
// answered as one.
func (Dialect) Indexes(t *dialect.Table) dialect.Statement {
	in := ""
	if t.Schema != "" {
		in = ", " + literal(t.Schema)
	}
	of := literal(t.Name) + in
	list := "sqlite_master"
	if t.Schema != "" {
		list = quote(t.Schema) + "." + list
	}
	// The condition stands in the index's text alone, behind the first WHERE.
	const where = `instr(upper(replace(m.sql, char(10), ' ')), ' WHERE ')`
	return dialect.Statement{SQL: `SELECT name, COALESCE(col, ''), COALESCE(condition, '') FROM (` +
		`SELECT l.name AS name, i.name AS col, i.seqno AS n, CASE WHEN l.partial THEN substr(m.sql, ` + where + ` + 7) END AS condition ` +
		`FROM pragma_index_list(` + of + `) l, pragma_index_info(l.name` + in + `) i LEFT JOIN ` + list + ` m ON m.type = 'index' AND m.name = l.name ` +
		`UNION ALL SELECT 'primary key', name, pk, '' FROM pragma_table_info(` + of + `) WHERE pk > 0) ORDER BY name, n`}
}

// ClaimIndex implements [dialect.Dialect].
func (d Dialect) ClaimIndex(t *dialect.Table, s dialect.Selection) dialect.Index {
	return d.Index(t, s, maxName)
}

// Schema implements [dialect.Dialect]. AUTOINCREMENT keeps a key from being given to a new row while
// a dead letter still has it.
func (d Dialect) Schema(t *dialect.Table) dialect.Schema {
	const now = "DEFAULT (strftime('%Y-%m-%d %H:%M:%f000', 'now'))"
	return d.Grammar.Schema(t, dialect.Types{
		SingleID: "INTEGER PRIMARY KEY AUTOINCREMENT",
		PartID:   "INTEGER NOT NULL",
		Roles: map[dialect.Role]string{
			dialect.Group:        "TEXT NOT NULL",
			dialect.Priority:     "INTEGER NOT NULL DEFAULT 0",
			dialect.PartitionKey: "TEXT",
			dialect.RetryAfter:   "TEXT NOT NULL " + now,
			dialect.Attempt:      "INTEGER NOT NULL DEFAULT 1",
			dialect.ProcessedAt:  "TEXT",
			dialect.LockedUntil:  "TEXT",
			dialect.Headers:      "TEXT",
			dialect.Payload:      "BLOB NOT NULL",
			dialect.Error:        "TEXT",
			dialect.Origin:       "TEXT",
			dialect.CreatedAt:    "TEXT NOT NULL " + now,
		},
		MaxName: maxName,
	})
}
