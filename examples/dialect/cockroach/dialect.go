// Package cockroach is a dialect for CockroachDB, as an example of a database that speaks almost what
// another one does: it takes what PostgreSQL says and changes what differs.
//
// What differs comes from the documentation of CockroachDB 24.3 and its issues; no cluster has run it.
// Most of its statements are prepared on PostgreSQL in the tests.
package cockroach

import (
	"fmt"
	"strings"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/postgres"
)

// Dialect says what CockroachDB 24.3 and later understand. Its value is [New]'s.
type Dialect struct{ shared }

// shared is what CockroachDB has of PostgreSQL's dialect. An interface passes on its own methods alone,
// so the rest is not promised: there are no locks of a session (its functions answer yes and lock
// nothing, issue 13546), no FIFO groups, which rest on such locks, and no notifications.
type shared interface {
	dialect.Lease
	dialect.RowLock
	dialect.Rows
}

var _ dialect.Leveled = Dialect{}

// New is the dialect.
func New() Dialect { return Dialect{postgres.New()} }

// Name implements [dialect.Dialect].
func (Dialect) Name() string { return "CockroachDB" }

// CheckVersion implements [dialect.Dialect]. Since 24.3 a limit does not count the rows that are passed
// over (pull request 127718).
func (Dialect) CheckVersion(version string) error {
	if !strings.HasPrefix(version, "CockroachDB") {
		return fmt.Errorf("the server calls itself %q and not CockroachDB", version)
	}
	_, number, _ := strings.Cut(version, " v")
	return dialect.CheckVersion("CockroachDB", number, "24.3")
}

// Levels implements [dialect.Leveled]. The others are run as one of these.
func (Dialect) Levels() []dialect.Level {
	return []dialect.Level{dialect.ReadCommitted, dialect.Serializable}
}

// Describe implements [dialect.Dialect]. Rows have no address (ctid), as those of a partitioned table
// have none that is unique, so that they are found by their keys. A column that is always an identity
// cannot be given a value (issue 68201), and the server refuses a dead letter table that has one.
func (Dialect) Describe(t *dialect.Table) dialect.Statement {
	name := postgres.New().Table(t)
	return dialect.Statement{SQL: `SELECT a.attname::text, format_type(a.atttypid, a.atttypmod), (NOT a.attnotnull)::int::text, ` +
		`(COALESCE(a.attgenerated::text, '') <> '')::int::text, '0', ` +
		`CASE WHEN a.atttypid IN ('timestamp'::regtype, 'timestamptz'::regtype) ` +
		`THEN (CASE WHEN a.atttypmod < 0 THEN 6 ELSE a.atttypmod END)::text END, '1' ` +
		`FROM pg_attribute a WHERE a.attrelid = to_regclass(` + literal(name) + `) AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`}
}

// literal renders a string constant, in which a backslash is a character.
func literal(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// Indexes implements [dialect.Dialect]. The key that every index ends in, and columns that are only
// stored, are not what it was declared with.
func (Dialect) Indexes(t *dialect.Table) dialect.Statement {
	schema := "current_schema()"
	if t.Schema != "" {
		schema = literal(t.Schema)
	}
	return dialect.Statement{SQL: "SELECT s.index_name::text, s.column_name::text, COALESCE(pg_get_expr(i.indpred, i.indrelid), '') FROM information_schema.statistics AS s " +
		"JOIN pg_class AS c ON c.relname = s.index_name JOIN pg_index AS i ON i.indexrelid = c.oid AND i.indrelid = to_regclass(" + literal(postgres.New().Table(t)) + ") " +
		"WHERE s.table_schema = " + schema + " AND s.table_name = " + literal(t.Name) +
		" AND s.storing = 'NO' AND s.implicit = 'NO' ORDER BY s.index_name, s.seq_in_index"}
}
