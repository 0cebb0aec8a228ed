package postgres

import (
	"strconv"
	"strings"

	"github.com/inbox-wasm/inbox-wasm/dialect"
)

var lockText = dialect.KeyText{
	Literal: literal,
	Column: func(c dialect.Column) string {
		if c.Kind == dialect.Bytes {
			// The cast would depend on the session's bytea_output.
			return "encode(" + quote(c.Name) + ", 'hex')"
		}
		return quote(c.Name) + "::text"
	},
	Join: func(parts []string) string { return "(" + strings.Join(parts, " || ") + ")" },
}

// hash is the number that a key's lock goes by: two keys with one hash wait for each other.
func hash(key string) string { return "hashtextextended(" + key + ", 0)" }

// lockedHashes are the numbers of the locks that sessions of this database hold, put together as
// pg_locks takes a bigint key apart (PostgreSQL documentation, section 54.12).
const lockedHashes = `SELECT (classid::bigint << 32) | objid::bigint FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1 ` +
	`AND granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`

// AdvisoryClaim implements [dialect.Advisory]. It only looks at pg_locks: a lock function in a statement
// that reads a table would run on rows that the planner reads and does not answer. The answers' names
// keep the order from meaning the text of a column.
func (Dialect) AdvisoryClaim(t *dialect.Table, s dialect.Selection) dialect.Statement {
	b := grammar.Builder()
	key := lockText.LockKey(t)
	b.Add("SELECT ")
	for i, c := range t.IDColumns() {
		b.Add(text("", c), " AS __id", strconv.Itoa(i), ", ")
	}
	b.Add(key, " AS __lock, ", hash(key), "::text AS __name FROM ", grammar.Table(t), " WHERE ")
	grammar.Claimable(b, t, s)
	b.Add(" AND ", hash(key), " NOT IN (", lockedHashes, ")")
	b.Add(" AND ", hash(key), " NOT IN (SELECT unnest(", b.Bind(dialect.LockNames), "::bigint[]))")
	b.Add(" ORDER BY ", grammar.Order(t), " LIMIT ", b.Bind(dialect.Limit), "::bigint")
	return b.Statement(dialect.CandidateOutputs(t)...)
}

// Lock implements [dialect.Advisory].
func (Dialect) Lock() *dialect.Statement { return named("pg_try_advisory_lock") }

// Unlock implements [dialect.Advisory].
func (Dialect) Unlock() *dialect.Statement { return named("pg_advisory_unlock") }

func named(function string) *dialect.Statement {
	b := grammar.Builder()
	b.Add("SELECT ", function, "(", b.Bind(dialect.LockName), "::bigint)::int::text")
	s := b.Statement()
	return &s
}

// OwnLock implements [dialect.Advisory]: as a scalar subquery it runs once, and its value has a text
// form.
func (Dialect) OwnLock(sql string) dialect.Statement {
	s := dialect.Own(sql)
	s.SQL = "SELECT (" + s.SQL + ")::text"
	return s
}

// Take implements [dialect.Advisory]. A row that another transaction has locked is passed over. The
// address is looked up once, and the key beside it tells the parts of a partitioned table apart.
func (Dialect) Take(t *dialect.Table, s dialect.Selection) []dialect.Statement {
	b := grammar.Builder()
	columns, outputs := claimed(t)
	if !t.Has(dialect.Attempt) {
		b.Add("SELECT ", columns, " FROM ", grammar.Table(t), " WHERE ", grammar.KeyIs(b, t), " AND ")
		grammar.Claimable(b, t, s)
		return []dialect.Statement{b.Statement(outputs...)}
	}
	b.Add("UPDATE ", grammar.Table(t), " SET ", grammar.Role(t, "", dialect.Attempt), " = ", grammar.Counted(t),
		" WHERE ", grammar.KeyIs(b, t), " AND ctid = ANY(ARRAY(SELECT ctid FROM ", grammar.Table(t),
		" WHERE ", grammar.KeyIs(b, t), " AND ")
	grammar.Claimable(b, t, s)
	b.Add(" FOR ", forUpdate, " SKIP LOCKED)) RETURNING ", columns)
	return []dialect.Statement{b.Statement(outputs...)}
}

// LockSettings implements [dialect.Advisory]. A setting that the server's version does not know is left
// alone. The bound on waits for locks is above the server's deadlock_timeout, a second: otherwise both of two
// transactions that wait for each other give up, where the server would let one go on. Three tries of a
// settlement stay within five seconds.
func (Dialect) LockSettings() *dialect.Statement {
	return &dialect.Statement{SQL: `SELECT set_config(name, CASE name WHEN 'lock_timeout' THEN '1400ms' ELSE '0' END, false) ` +
		`FROM pg_settings WHERE name IN ('lock_timeout', 'idle_session_timeout', 'idle_in_transaction_session_timeout')`}
}

// SessionID implements [dialect.Advisory]. A process number is used again, but not with the same start.
func (Dialect) SessionID() *dialect.Statement {
	return &dialect.Statement{SQL: "SELECT pid::text || ' ' || backend_start::text FROM pg_stat_activity WHERE pid = pg_backend_pid()"}
}

// EndSession implements [dialect.Advisory].
func (Dialect) EndSession() *dialect.Statement {
	b := grammar.Builder()
	b.Add("SELECT pg_terminate_backend(pid)::text FROM pg_stat_activity WHERE pid::text || ' ' || backend_start::text = ",
		b.Bind(dialect.SessionID), "::text")
	s := b.Statement()
	return &s
}
