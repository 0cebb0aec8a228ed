package mysql

import (
	"strings"

	"github.com/inbox-wasm/inbox-wasm/dialect"
)

// maxName is the longest identifier, in characters; counted as bytes, it is never too long.
const maxName = 64

// CheckVersion implements [dialect.Dialect]. They are the first with SKIP LOCKED.
func (Dialect) CheckVersion(version string) error {
	if strings.Contains(version, "MariaDB") {
		return dialect.CheckVersion("MariaDB", version, "10.6")
	}
	return dialect.CheckVersion("MySQL", version, "8.0.1")
}

// Indexes implements [dialect.Dialect]. An expression in an index has no column and is answered as
// an empty name.
func (Dialect) Indexes(t *dialect.Table) dialect.Statement {
	return dialect.Statement{SQL: "SELECT index_name, COALESCE(column_name, ''), '' FROM information_schema.statistics " +
		"WHERE table_schema = " + schemaOf(t) + " AND table_name = " + literal(t.Name) + " ORDER BY index_name, seq_in_index"}
}

// schemaOf is the database that a table is in, as an expression.
func schemaOf(t *dialect.Table) string {
	if t.Schema == "" {
		return "DATABASE()"
	}
	return literal(t.Schema)
}

var _ dialect.Unique = Dialect{}

// UniqueIndexes implements [dialect.Unique].
func (Dialect) UniqueIndexes(t *dialect.Table) dialect.Statement {
	return dialect.Statement{SQL: "SELECT index_name, COALESCE(column_name, '') FROM information_schema.statistics WHERE non_unique = 0" +
		" AND table_schema = " + schemaOf(t) + " AND table_name = " + literal(t.Name) + " ORDER BY index_name, seq_in_index"}
}

// ClaimIndex implements [dialect.Dialect].
func (d Dialect) ClaimIndex(t *dialect.Table, s dialect.Selection) dialect.Index {
	return d.Index(t, s, maxName)
}

// Schema implements [dialect.Dialect].
func (d Dialect) Schema(t *dialect.Table) dialect.Schema {
	return d.Grammar.Schema(t, dialect.Types{
		SingleID: "bigint NOT NULL AUTO_INCREMENT PRIMARY KEY",
		PartID:   "bigint NOT NULL",
		Roles: map[dialect.Role]string{
			dialect.Group:        "varchar(191) NOT NULL",
			dialect.Priority:     "int NOT NULL DEFAULT 0",
			dialect.PartitionKey: "varchar(191)",
			dialect.RetryAfter:   "datetime(6) NOT NULL DEFAULT (utc_timestamp(6))",
			dialect.Attempt:      "int NOT NULL DEFAULT 1",
			dialect.ProcessedAt:  "datetime(6)",
			dialect.LockedUntil:  "datetime(6)",
			dialect.Headers:      "json",
			dialect.Payload:      "longblob NOT NULL",
			dialect.Error:        "text",
			dialect.Origin:       "varchar(191)",
			dialect.CreatedAt:    "datetime(6) NOT NULL DEFAULT (utc_timestamp(6))",
		},
		Suffix:  " ENGINE=InnoDB DEFAULT CHARSET=utf8mb4",
		MaxName: maxName,
	})
}
