package dialect

import (
	"strconv"
	"strings"
)

// KeyPart is a piece of a lock key: the value of a column where Column is set, else literal text.
type KeyPart struct{ Literal, Column string }

// Advisory is a dialect's advisory lock form: a lock on the key of a row, which a session holds while
// no transaction is open, keeps the rows that share the key in work one at a time.
//
// A key is what [Table.Key] renders to as text; a row with NULL in a column of it has a key of its own,
// by its id. The lock's name is what the database makes of the key and tells from other names.
type Advisory interface {
	Keyed
	// AdvisoryClaim answers at most Limit candidates: claimable rows in claim order, each as its key
	// ([FieldID]), [FieldLock], [FieldName] and, where the table has the role, [FieldAttempt] as it stands. It leaves out the names of LockNames and, where the
	// database can tell, those that a session holds. It locks nothing and writes nothing.
	AdvisoryClaim(t *Table, s Selection) Statement
	// Lock tries a lock for the session, without waiting, and answers one integer, nonzero where the
	// lock was taken. It binds LockName or LockKey. It is nil where the database keeps no locks that
	// a session holds, and the process has to keep them.
	Lock() *Statement
	// Unlock releases the session's lock and answers one integer, nonzero where the session held it.
	Unlock() *Statement
	// OwnLock is a user's own statement, to lock or to unlock, whose one placeholder is LockKey. It
	// answers one value, which is true or not zero where it did so.
	OwnLock(sql string) Statement
	// Take counts the attempt of one row and answers the row, with the attempt after the count, only
	// where it is claimable; the session holds its lock. Of two statements the first counts and
	// changes no row where the row is not claimable, and the last answers.
	Take(t *Table, s Selection) []Statement
	// LockSettings prepares a session: it bounds the waits for other sessions' row locks, and keeps
	// the server from ending an idle session. Nil where there is nothing to set.
	LockSettings() *Statement
	// SessionID answers what names the session on the server, an integer or a text, and EndSession
	// ends the session of that name from another one, with its locks: a server may not notice for
	// hours that a connection is gone. Nil where there are no sessions.
	SessionID() *Statement
	EndSession() *Statement
}

// KeyText says how a database renders a lock key.
type KeyText struct {
	// Literal is a string constant.
	Literal func(text string) string
	// Column is a column as text, the same text in every session.
	Column func(c Column) string
	// Join joins expressions of text; it is NULL where one of them is.
	Join func(parts []string) string
}

// LockKey is the expression of a row's lock key.
func (k KeyText) LockKey(t *Table) string {
	nullable := false
	parts := make([]string, len(t.Key))
	for i, p := range t.Key {
		if p.Column == "" {
			parts[i] = k.Literal(p.Literal)
			continue
		}
		c := t.Named(p.Column)
		nullable = nullable || c.Nullable
		parts[i] = k.Column(c)
	}
	key := k.Join(parts)
	if !nullable {
		return key
	}
	alone := []string{k.Literal(t.String() + " ")}
	for i, c := range t.IDColumns() {
		if i > 0 {
			alone = append(alone, k.Literal(","))
		}
		alone = append(alone, k.Column(c))
	}
	return "COALESCE(" + key + ", " + k.Join(alone) + ")"
}

// CandidateOutputs are the columns of a candidate.
func CandidateOutputs(t *Table) []Output {
	outputs := append(KeyOutputs(t), Output{Field: FieldLock}, Output{Field: FieldName})
	if t.Has(Attempt) {
		outputs = append(outputs, Output{Field: FieldAttempt})
	}
	return outputs
}

// AdvisoryMany is a dialect whose claims and settlements in the advisory lock form are of many rows at once. A lock is
// only tried for rows that a claim has picked, each once: in a statement that reads the table it would be tried for rows
// that the planner reads and does not answer.
type AdvisoryMany interface {
	Advisory
	// LockMany tries the locks of LockNames for the session, without waiting, and answers one text: for each of them 1
	// where it was taken, and else 0. It is the first statement of a transaction, and TakeMany the second and last, with
	// a view of the table that is younger than the locks.
	LockMany() Statement
	// TakeMany counts the attempts of the rows of IDs and answers them, each where LockMany took its lock, the row still
	// has the key that LockNames says, and it is claimable.
	TakeMany(t *Table, s Selection) Statement
	// FinishEach is Finish for the rows of IDs. It answers the ordinal of each row that was there.
	FinishEach(t *Table) Statement
	// UnlockMany releases the session's locks of LockNames, and answers one text: for each of them 1 where the session
	// held it, and else 0.
	UnlockMany() Statement
}

// Counted is the attempt after one more delivery, up to the top of its type.
func (g *Grammar) Counted(t *Table) string {
	current := g.Current(t)
	return "CASE WHEN " + current + " < " + strconv.FormatInt(t.Column(Attempt).Max, 10) + " THEN " + current +
		" + 1 ELSE " + current + " END"
}

// Own is a user's own statement about a key, as it stands.
func Own(sql string) Statement {
	return Statement{SQL: strings.TrimRight(sql, "; \t\r\n"), Params: []Param{{Name: LockKey}}}
}

// ListedBefore completes a statement that goes on behind its list: what has been written up to here is
// before it, and the item binds one value.
func (b *Builder) ListedBefore(after func(b *Builder), item ParamName, returns ...Output) Statement {
	b.Add(ListMark)
	before := len(b.params)
	after(b)
	s := b.Statement(returns...)
	s.Item, s.ItemParams, s.Behind = "?", []Param{{Name: item}}, len(b.params)-before
	return s
}
