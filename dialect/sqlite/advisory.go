package sqlite

import (
	"strings"

	"github.com/inbox-wasm/inbox-wasm/dialect"
)

var lockText = dialect.KeyText{
	Literal: literal,
	Column: func(c dialect.Column) string {
		name := quote(c.Name)
		// A column of any type may hold bytes.
		return "CASE typeof(" + name + ") WHEN 'blob' THEN hex(" + name + ") ELSE CAST(" + name + " AS TEXT) END"
	},
	Join: func(parts []string) string { return "(" + strings.Join(parts, " || ") + ")" },
}

// AdvisoryClaim implements [dialect.Advisory]. SQLite knows of no locks: all of those in use are listed. No
// lock has the empty name.
func (d Dialect) AdvisoryClaim(t *dialect.Table, s dialect.Selection) dialect.Statement {
	b := d.Builder()
	key := lockText.LockKey(t)
	name := "'=' || " + key
	attempt := ""
	if t.Has(dialect.Attempt) {
		attempt = ", " + d.Current(t)
	}
	b.Add("SELECT ", d.AnswerIDs(t), ", ", key, " AS __lock, ", name, " AS __name", attempt, " FROM ", d.Table(t), " WHERE ")
	d.Claimable(b, t, s)
	b.Add(" AND ", name, " NOT IN (")
	return b.ListedBefore(func(b *dialect.Builder) {
		b.Add(") ORDER BY ", d.Order(t), " LIMIT ", b.Bind(dialect.Limit))
	}, dialect.LockName, dialect.CandidateOutputs(t)...)
}

// Lock implements [dialect.Advisory]: the process keeps the locks.
func (Dialect) Lock() *dialect.Statement { return nil }

// Unlock implements [dialect.Advisory].
func (Dialect) Unlock() *dialect.Statement { return nil }

// OwnLock implements [dialect.Advisory].
func (Dialect) OwnLock(sql string) dialect.Statement { return dialect.Own(sql) }

// Take implements [dialect.Advisory].
func (d Dialect) Take(t *dialect.Table, s dialect.Selection) []dialect.Statement {
	b := d.Builder()
	if t.Has(dialect.Attempt) {
		b.Add("UPDATE ", d.Table(t), " SET ", d.Role(t, "", dialect.Attempt), " = ", d.Counted(t), " WHERE ", d.KeyIs(b, t), " AND ")
		d.Claimable(b, t, s)
		return []dialect.Statement{b.Statement(d.returning(b, t)...)}
	}
	columns, outputs := d.answered(t)
	b.Add("SELECT ", columns, " FROM ", d.Table(t), " WHERE ", d.KeyIs(b, t), " AND ")
	d.Claimable(b, t, s)
	return []dialect.Statement{b.Statement(outputs...)}
}

// LockSettings implements [dialect.Advisory].
func (Dialect) LockSettings() *dialect.Statement { return nil }

// SessionID implements [dialect.Advisory].
func (Dialect) SessionID() *dialect.Statement { return nil }

// EndSession implements [dialect.Advisory].
func (Dialect) EndSession() *dialect.Statement { return nil }
