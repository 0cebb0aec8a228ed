package mssql

import (
	"strings"

	"github.com/inbox-wasm/inbox-wasm/dialect"
)

var keyText = dialect.KeyText{
	Literal: literal,
	Column: func(c dialect.Column) string {
		if c.Kind == dialect.Bytes {
			return "CONVERT(nvarchar(max), " + quote(c.Name) + ", 2)"
		}
		return text(c, quote(c.Name))
	},
	// CONCAT would take NULL for an empty text.
	Join: func(parts []string) string { return "(" + strings.Join(parts, " + ") + ")" },
}

// lockName is the name of a key's lock, which belongs to the database. The server cuts names off at 255
// characters ("sp_getapplock"), so longer ones go by their hash.
const lockName = "CASE WHEN DATALENGTH(__lock) > 510 THEN CONVERT(nvarchar(255), HASHBYTES('SHA2_256', __lock), 2) " +
	"ELSE CONVERT(nvarchar(255), __lock) END"

// AdvisoryClaim implements [dialect.Advisory]. The names of a list are compared as the server compares
// those of locks, by their code points ("sp_getapplock").
func (Dialect) AdvisoryClaim(t *dialect.Table, s dialect.Selection) dialect.Statement {
	b := grammar.Builder()
	b.Add("SELECT TOP (", b.Bind(dialect.Limit), ") ")
	for _, c := range t.IDColumns() {
		b.Add(text(c, quote(c.Name)), ", ")
	}
	attempt := ""
	if t.Has(dialect.Attempt) {
		attempt = ", " + grammar.Text(grammar.Current(t))
	}
	b.Add("__lock, __name", attempt, " FROM ", grammar.Table(t), passing, " CROSS APPLY (SELECT ", keyText.LockKey(t), " AS __lock) AS __locks",
		" CROSS APPLY (SELECT ", lockName, " AS __name) AS __names WHERE ")
	grammar.Claimable(b, t, s)
	b.Add(" AND __name COLLATE Latin1_General_BIN2 NOT IN (SELECT [value] FROM OPENJSON(", b.Bind(dialect.LockNames), "))",
		" AND APPLOCK_TEST(N'public', __name, N'Exclusive', N'Session') = 1 ORDER BY ", grammar.Order(t))
	return b.Statement(dialect.CandidateOutputs(t)...)
}

// Lock implements [dialect.Advisory]. A session gets a lock that it has once more, so it is asked first
// what it has.
func (Dialect) Lock() *dialect.Statement {
	return appLock("=", "sp_getapplock", ", @LockMode = N'Exclusive', @LockTimeout = 0")
}

// Unlock implements [dialect.Advisory]. The release of a lock that the session does not have would be an
// error ("sp_releaseapplock").
func (Dialect) Unlock() *dialect.Statement { return appLock("<>", "sp_releaseapplock", "") }

// appLock runs a procedure about a lock where the session has none (=) or has one (<>), and answers 1
// where it did what it should.
func appLock(condition, procedure, more string) *dialect.Statement {
	b := grammar.Builder()
	name := b.Bind(dialect.LockName)
	b.Add("DECLARE @__result int = -1; IF APPLOCK_MODE(N'public', ", name, ", N'Session') ", condition, " N'NoLock' EXEC @__result = ",
		procedure, " @Resource = ", name, ", @LockOwner = N'Session', @DbPrincipal = N'public'", more,
		"; SELECT CASE WHEN @__result >= 0 THEN 1 ELSE 0 END")
	s := b.Statement()
	return &s
}

// OwnLock implements [dialect.Advisory]: the statement names the key @p1.
func (Dialect) OwnLock(sql string) dialect.Statement { return dialect.Own(sql) }

// Take implements [dialect.Advisory]: it answers the row as it was, and the attempt as it is after the
// count.
func (Dialect) Take(t *dialect.Table, s dialect.Selection) []dialect.Statement {
	b := grammar.Builder()
	if !t.Has(dialect.Attempt) {
		columns, outputs := answered(t, "", "")
		b.Add("SELECT ", columns, " FROM ", grammar.Table(t), passing, " WHERE ", grammar.KeyIs(b, t), " AND ")
		grammar.Claimable(b, t, s)
		return []dialect.Statement{b.Statement(outputs...)}
	}
	columns, outputs := answered(t, "deleted.", "inserted.")
	b.Add("UPDATE ", grammar.Table(t), locking, " SET ", grammar.Role(t, "", dialect.Attempt), " = ", grammar.Counted(t),
		" OUTPUT ", columns, " WHERE ", grammar.KeyIs(b, t), " AND ")
	grammar.Claimable(b, t, s)
	return []dialect.Statement{b.Statement(outputs...)}
}

// LockSettings implements [dialect.Advisory]. The server ends no session for being idle.
func (Dialect) LockSettings() *dialect.Statement {
	return &dialect.Statement{SQL: "SET LOCK_TIMEOUT 1000"}
}

// sessionName names a session: its number is used again, but not with the same start.
const sessionName = "CONVERT(nvarchar(11), session_id) + N' ' + CONVERT(nvarchar(34), login_time, 121)"

// SessionID implements [dialect.Advisory].
func (Dialect) SessionID() *dialect.Statement {
	return &dialect.Statement{SQL: "SELECT " + sessionName + " FROM sys.dm_exec_sessions WHERE session_id = @@SPID"}
}

// EndSession implements [dialect.Advisory]. It takes the permissions VIEW SERVER STATE, to see other
// sessions, and ALTER ANY CONNECTION ("KILL"); without the first nothing happens, and the server ends
// the session when it notices that its client is gone.
func (Dialect) EndSession() *dialect.Statement {
	b := grammar.Builder()
	b.Add("DECLARE @__kill nvarchar(20) = (SELECT N'KILL ' + CONVERT(nvarchar(11), session_id) FROM sys.dm_exec_sessions WHERE ",
		sessionName, " = ", b.Bind(dialect.SessionID), "); IF @__kill IS NOT NULL EXEC (@__kill)")
	s := b.Statement()
	return &s
}
