package mssql

import (
	"slices"

	"github.com/inbox-wasm/inbox-wasm/dialect"
)

// azure is the version that [Open] gives for Azure SQL, whose own number never changes.
const azure = "Azure SQL"

// CheckVersion implements [dialect.Dialect]. 13 is SQL Server 2016, the first with OPENJSON and
// DATEDIFF_BIG.
func (Dialect) CheckVersion(version string) error {
	if version == azure {
		return nil
	}
	return dialect.CheckVersion("SQL Server", version, "13")
}

// Describe implements [dialect.Dialect]. An identity column always refuses a value of its own. The
// server keeps times to seven digits, of which six are used. A partitioned table is addressed by its key
// as any other.
func (Dialect) Describe(t *dialect.Table) dialect.Statement {
	const length = "CASE c.max_length WHEN -1 THEN 'max' ELSE CONVERT(varchar(5), c.max_length / CASE WHEN y.name LIKE 'n%' THEN 2 ELSE 1 END) END"
	return dialect.Statement{SQL: "SELECT c.name, y.name + CASE " +
		"WHEN y.name LIKE '%char' OR y.name LIKE '%binary' THEN '(' + " + length + " + ')' " +
		"WHEN y.name IN ('datetime2', 'datetimeoffset', 'time') THEN '(' + CONVERT(varchar(3), c.scale) + ')' " +
		"WHEN y.name IN ('decimal', 'numeric') THEN '(' + CONVERT(varchar(3), c.precision) + ', ' + CONVERT(varchar(3), c.scale) + ')' " +
		"ELSE '' END, CONVERT(int, c.is_nullable), " +
		"CASE WHEN c.is_computed = 1 OR c.generated_always_type <> 0 THEN 1 ELSE 0 END, CONVERT(int, c.is_identity), " +
		"CASE WHEN y.name IN ('datetime2', 'datetimeoffset') THEN CASE WHEN c.scale > 6 THEN 6 ELSE CONVERT(int, c.scale) END END, 0 " +
		"FROM sys.columns AS c CROSS APPLY (SELECT COALESCE(TYPE_NAME(c.system_type_id), TYPE_NAME(c.user_type_id)) AS name) AS y " +
		"WHERE c.object_id = " + object(t) + " ORDER BY c.column_id"}
}

// object is the table's number, NULL where there is no such table.
func object(t *dialect.Table) string { return "OBJECT_ID(" + literal(grammar.Table(t)) + ", N'U')" }

// Indexes implements [dialect.Dialect].
func (Dialect) Indexes(t *dialect.Table) dialect.Statement {
	return dialect.Statement{SQL: "SELECT i.name, c.name, COALESCE(i.filter_definition, '') FROM sys.indexes AS i " +
		"JOIN sys.index_columns AS k ON k.object_id = i.object_id AND k.index_id = i.index_id " +
		"JOIN sys.columns AS c ON c.object_id = k.object_id AND c.column_id = k.column_id " +
		"WHERE i.object_id = " + object(t) + " AND i.is_disabled = 0 AND k.key_ordinal > 0 ORDER BY i.name, k.key_ordinal"}
}

// maxName is the longest identifier, in characters ("Database identifiers"); counted as bytes, it is
// never too long.
const maxName = 128

// ClaimIndex implements [dialect.Dialect]. An index here takes columns alone, so it orders a nullable
// priority as if NULL came first; such a column is better NOT NULL.
func (Dialect) ClaimIndex(t *dialect.Table, s dialect.Selection) dialect.Index {
	plain := *t
	plain.Columns = slices.Clone(t.Columns)
	for i := range plain.Columns {
		plain.Columns[i].Nullable = false
	}
	return grammar.Index(&plain, s, maxName)
}

// types are those of the program's own schema. A group and a priority go into an index, whose key has at
// most 1,700 bytes ("Maximum capacity specifications for SQL Server").
var types = dialect.Types{
	SingleID: "bigint IDENTITY PRIMARY KEY",
	PartID:   "bigint NOT NULL",
	Roles: map[dialect.Role]string{
		dialect.Group:        "nvarchar(191) NOT NULL",
		dialect.Priority:     "int NOT NULL DEFAULT 0",
		dialect.PartitionKey: "nvarchar(191)",
		dialect.RetryAfter:   "datetime2(6) NOT NULL DEFAULT SYSUTCDATETIME()",
		dialect.Attempt:      "int NOT NULL DEFAULT 1",
		dialect.ProcessedAt:  "datetime2(6)",
		dialect.LockedUntil:  "datetime2(6)",
		dialect.Headers:      "nvarchar(max)",
		dialect.Payload:      "varbinary(max) NOT NULL",
		dialect.Error:        "nvarchar(max)",
		dialect.Origin:       "nvarchar(191)",
		dialect.CreatedAt:    "datetime2(6) NOT NULL DEFAULT SYSUTCDATETIME()",
	},
	MaxName: maxName,
}

// Schema implements [dialect.Dialect].
func (Dialect) Schema(t *dialect.Table) dialect.Schema {
	return grammar.Schema(t, types)
}
