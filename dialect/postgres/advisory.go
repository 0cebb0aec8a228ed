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
	b.Add(key, " AS __lock, ", hash(key), "::text AS __name")
	if t.Has(dialect.Attempt) {
		b.Add(", ", grammar.Text(grammar.Current(t)), " AS __attempt")
	}
	b.Add(" FROM ", grammar.Table(t), " WHERE ")
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

// lockedSetting holds, until its transaction ends, which locks LockMany has taken, for TakeMany to see without another
// round trip.
const lockedSetting = "'inbox_wasm.locked'"

// LockMany implements [dialect.AdvisoryMany]. The subquery is a step of its own, so that each lock is tried once
// (PostgreSQL documentation, section 9.28.10).
func (Dialect) LockMany() dialect.Statement {
	b := grammar.Builder()
	b.Add("SELECT set_config(", lockedSetting, ", COALESCE(string_agg(taken::int::text, '' ORDER BY n), ''), true) FROM (")
	eachLock(b, "pg_try_advisory_lock", "taken")
	return b.Statement()
}

// UnlockMany implements [dialect.AdvisoryMany].
func (Dialect) UnlockMany() dialect.Statement {
	b := grammar.Builder()
	b.Add("SELECT COALESCE(string_agg(released::int::text, '' ORDER BY n), '') FROM (")
	eachLock(b, "pg_advisory_unlock", "released")
	return b.Statement()
}

func eachLock(b *dialect.Builder, function, answer string) {
	b.Add("SELECT n, ", function, "(name) AS ", answer, " FROM unnest(", b.Bind(dialect.LockNames), "::bigint[]) WITH ORDINALITY AS l(name, n) OFFSET 0) AS l")
}

// TakeMany implements [dialect.AdvisoryMany]. The rows are found by their address, as [Dialect.LeaseClaim] finds
// them; those of a table without addresses of its own by their keys, in a step that runs once.
func (Dialect) TakeMany(t *dialect.Table, s dialect.Selection) dialect.Statement {
	b := grammar.Builder()
	columns, outputs := claimed(t)
	switch {
	case !t.Has(dialect.Attempt):
		b.Add("SELECT ", columns)
		taken(b, t, s)
	case t.Partitioned:
		names := make([]string, len(t.ID))
		match := make([]string, len(t.ID))
		for i, name := range t.ID {
			names[i] = "__t" + strconv.Itoa(i)
			match[i] = "q." + quote(name) + " = __taken." + names[i]
		}
		b.Add("WITH __taken(", strings.Join(names, ", "), ") AS (SELECT ", grammar.IDs(t, "q."))
		taken(b, t, s)
		b.Add(" FOR ", forUpdate, " OF q SKIP LOCKED) UPDATE ", grammar.Table(t), " AS q SET ", quote(t.Roles[dialect.Attempt]), " = ",
			grammar.Counted(t), " FROM __taken WHERE ", strings.Join(match, " AND "), " RETURNING ", columns)
	default:
		b.Add("UPDATE ", grammar.Table(t), " SET ", quote(t.Roles[dialect.Attempt]), " = ", grammar.Counted(t),
			" WHERE ctid = ANY(ARRAY(SELECT q.ctid")
		taken(b, t, s)
		b.Add(" FOR ", forUpdate, " OF q SKIP LOCKED)) RETURNING ", columns)
	}
	return b.Statement(outputs...)
}

// taken ends a SELECT of the rows q whose locks were taken.
func taken(b *dialect.Builder, t *dialect.Table, s dialect.Selection) {
	arrays := make([]string, len(t.ID))
	names := make([]string, len(t.ID))
	match := make([]string, len(t.ID))
	for i, c := range t.IDColumns() {
		arrays[i] = b.BindPart(dialect.IDs, i) + "::" + c.Type + "[]"
		names[i] = "__k" + strconv.Itoa(i)
		match[i] = "q." + quote(c.Name) + " = " + names[i]
	}
	b.Add(" FROM unnest(", strings.Join(arrays, ", "), ", ", b.Bind(dialect.LockNames), "::bigint[], string_to_array(current_setting(", lockedSetting,
		"), NULL)) AS __c(", strings.Join(names, ", "), ", __name, __locked) JOIN ", grammar.Table(t), " AS q ON ", strings.Join(match, " AND "),
		" WHERE __locked = '1' AND ", hash(lockText.LockKey(t)), " = __name AND ")
	grammar.Claimable(b, t, s)
}

// FinishEach implements [dialect.AdvisoryMany].
func (Dialect) FinishEach(t *dialect.Table) dialect.Statement {
	b := grammar.Builder()
	finishListed(b, t, " WITH ORDINALITY", ", __n")
	b.Add(" RETURNING __held.__n::text")
	return b.Statement(ordinal)
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
