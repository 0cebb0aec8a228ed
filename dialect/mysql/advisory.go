package mysql

import (
	"strings"

	"github.com/inbox-wasm/inbox-wasm/dialect"
)

var lockText = dialect.KeyText{
	Literal: literal,
	Column: func(c dialect.Column) string {
		if c.Kind == dialect.Bytes {
			return "HEX(" + quote(c.Name) + ")"
		}
		return "CAST(" + quote(c.Name) + " AS CHAR CHARACTER SET utf8mb4)"
	},
	Join: func(parts []string) string { return "CONCAT(" + strings.Join(parts, ", ") + ")" },
}

// lockName is the name of a key's lock: locks belong to the server, so it starts with the database. MySQL
// takes names of at most 64 characters (MySQL manual, section 14.14), MariaDB longer ones, and MySQL none with
// characters beyond the three bytes of its own character set (error 3057).
func lockName(t *dialect.Table, key string) string {
	database := "LOWER(DATABASE())"
	if t.Schema != "" {
		database = literal(strings.ToLower(t.Schema))
	}
	name := "CONCAT(" + database + ", '.', " + key + ")"
	return "CASE WHEN CHAR_LENGTH(" + name + ") > 64 OR LENGTH(CONVERT(" + name + " USING utf8mb3)) <> LENGTH(" + name +
		") THEN SHA2(" + name + ", 256) ELSE " + name + " END"
}

// AdvisoryClaim implements [dialect.Advisory]. The list is compared by its bytes: whether 'a' and 'A' are
// one name is for the server to say, which it does by IS_USED_LOCK.
func (d Dialect) AdvisoryClaim(t *dialect.Table, s dialect.Selection) dialect.Statement {
	b := d.Builder()
	key := lockText.LockKey(t)
	name := lockName(t, key)
	attempt := ""
	if t.Has(dialect.Attempt) {
		attempt = ", " + d.Current(t)
	}
	b.Add("SELECT ", d.IDs(t, ""), ", ", key, " AS __lock, ", name, " AS __name", attempt, " FROM ", d.Table(t), offKey(t, s), " WHERE ")
	d.Claimable(b, t, s)
	b.Add(" AND IS_USED_LOCK(", name, ") IS NULL AND CAST(", name, " AS BINARY) NOT IN (")
	return b.ListedBefore(func(b *dialect.Builder) {
		b.Add(") ORDER BY ", d.Order(t), " LIMIT ", b.Bind(dialect.Limit))
	}, dialect.LockName, dialect.CandidateOutputs(t)...)
}

// Lock implements [dialect.Advisory]. A session gets a lock that it has once more, so it is asked first
// whether it is the one that has it.
func (d Dialect) Lock() *dialect.Statement {
	b := d.Builder()
	b.Add("SELECT CASE WHEN IS_USED_LOCK(", b.Bind(dialect.LockName), ") <=> CONNECTION_ID() THEN 0 ELSE COALESCE(GET_LOCK(",
		b.Bind(dialect.LockName), ", 0), 0) END")
	s := b.Statement()
	return &s
}

// Unlock implements [dialect.Advisory].
func (d Dialect) Unlock() *dialect.Statement {
	b := d.Builder()
	b.Add("SELECT COALESCE(RELEASE_LOCK(", b.Bind(dialect.LockName), "), 0)")
	s := b.Statement()
	return &s
}

// OwnLock implements [dialect.Advisory].
func (Dialect) OwnLock(sql string) dialect.Statement { return dialect.Own(sql) }

// Take implements [dialect.Advisory]. Neither server answers the row that an UPDATE changed, so it is read
// afterwards: the lock keeps it from changing in between. A row that another transaction has locked is
// passed over.
func (d Dialect) Take(t *dialect.Table, s dialect.Selection) []dialect.Statement {
	read := d.Builder()
	outputs := d.selectClaimed(read, t)
	read.Add(" WHERE ", d.KeyIs(read, t))
	if !t.Has(dialect.Attempt) {
		read.Add(" AND ")
		d.Claimable(read, t, s)
		return []dialect.Statement{read.Statement(outputs...)}
	}
	match := make([]string, len(t.ID))
	for i, name := range t.ID {
		match[i] = "q." + quote(name) + " = h." + quote(name)
	}
	count := d.Builder()
	attempt := d.Role(t, "q.", dialect.Attempt)
	count.Add("UPDATE ", d.Table(t), " AS q JOIN (SELECT ", d.IDs(t, ""), ", ", d.Counted(t), " AS __counted FROM ", d.Table(t),
		" WHERE ", d.KeyIs(count, t), " AND ")
	d.Claimable(count, t, s)
	count.Add(" LIMIT 1", d.LockClause, ") AS h ON ", strings.Join(match, " AND "), " SET ", attempt, " = h.__counted")
	return []dialect.Statement{count.Statement(), read.Statement(outputs...)}
}

// LockSettings implements [dialect.Advisory]: the session's wait_timeout, whatever the server's, outlasts
// the probes.
func (Dialect) LockSettings() *dialect.Statement {
	return &dialect.Statement{SQL: "SET SESSION innodb_lock_wait_timeout = 1, wait_timeout = 3600"}
}

// SessionID implements [dialect.Advisory].
func (Dialect) SessionID() *dialect.Statement {
	return &dialect.Statement{SQL: "SELECT CONNECTION_ID()"}
}

// EndSession implements [dialect.Advisory].
func (d Dialect) EndSession() *dialect.Statement {
	b := d.Builder()
	b.Add("KILL ", b.Bind(dialect.SessionID))
	s := b.Statement()
	return &s
}
