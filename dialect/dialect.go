package dialect

import "time"

// Dialect is what every database says, whatever form its tables take. A value of the type is safe
// for concurrent use.
type Dialect interface {
	// Name is the database's name for messages.
	Name() string
	// Quote renders an identifier.
	Quote(identifier string) string
	// FormatTime renders an instant for a parameter that meets a column of that many sub-second
	// digits, rounded up to them, since databases do not agree on how to round.
	FormatTime(t time.Time, precision int) string
	// Kind says what a type holds, from its name as Describe answers it.
	Kind(typeName string) Kind
	// Kinds lists the kinds that can play a role: [Role.Kinds], or more where the database keeps
	// values in types of other names.
	Kinds(r Role) []Kind
	// MaxInteger is the largest value of an integer type.
	MaxInteger(typeName string) int64
	// Describe asks for the columns of a table in order. It answers, for each: name, type, nullable,
	// generated, always identity (the three as 1 or 0), sub-second digits (NULL where the type
	// keeps no time), whether the table is partitioned, and whether the column is of its primary key
	// (1 or 0; the last may be left out where nothing depends on it). No row means no table.
	Describe(t *Table) Statement
	// Clock reads the database's time as seconds since the epoch with their fraction.
	Clock() Statement
	// Insert writes one row: a value for each of the roles, in their order. [RetryAfter] takes
	// NULL for at once.
	Insert(t *Table, roles []Role) Statement
	// Count counts the rows that a selection reads: those held, those due, and all of them, in this
	// order. The rest is delayed.
	Count(t *Table, s Selection) Statement
	// Unnamed counts the rows whose key names none, because it is NULL or of a type that no settlement would
	// find it by. No claim takes them. The text is empty where the table can have none.
	Unnamed(t *Table) Statement
	// CheckVersion refuses a server that is too old, by its version in its own words.
	CheckVersion(version string) error
	// Indexes answers the columns of every index of the table: the index's name, a column's, in the
	// index's order, and the condition of a partial index, empty for the others.
	Indexes(t *Table) Statement
	// ClaimIndex is the index of the order in which a selection of a described table's rows is claimed.
	ClaimIndex(t *Table, s Selection) Index
	// Schema is the statements that create the table and its claim-order index.
	Schema(t *Table) Schema
}

// Index is an index that a claim walks, so that it reads no more rows than it takes.
type Index struct {
	Create    string   // its CREATE INDEX
	Columns   []string // their names, in order
	Condition string   // of a partial index, empty for the others
}

// Schema is how a declared table would be created.
type Schema struct {
	Table string
	// Index creates the index that a claim of one group walks; empty where the primary key is that index.
	Index string
	// OrderIndex creates the index that a claim of every group at once walks, in one order across them;
	// empty where the primary key is that index, for tables without groups, and for FIFO tables, whose
	// groups are claimed one by one.
	OrderIndex string
	// OnceIndex creates the unique index of the columns of on_conflict; empty for other tables, and where the primary
	// key is that index.
	OnceIndex string
	// GroupIndex creates the index by which a FIFO claim sees that a group is in work; empty for
	// other tables.
	GroupIndex string
}

// Selection says which rows a subscription claims, and how.
type Selection struct {
	// AllGroups reads every group but the Except first ones that are bound. Otherwise one group is
	// read where the table has the role, and the whole table where it has not.
	AllGroups bool
	Except    int
	// BelowCap leaves out the rows on their last attempt: a claim that runs ahead of the free
	// threads must not spend it.
	BelowCap bool
	// Take is how many rows the claim takes, for a database that would plan a bound limit anew for each claim; 0 binds
	// Limit.
	Take int
	// Marked leaves out what comes before a row in the claim order, and, where retry_after may be NULL, all that have
	// one. It asks for a table that is [Table.Markable].
	Marked bool
	// Indexed says that the table has the claim order's index. Without it a claim in the order of the primary key
	// is best off with that key.
	Indexed bool
	// LeftOut is how many rows are left out by their keys: those that this process has given back and
	// that no column hides for a while.
	LeftOut int
}

// Lease is a dialect's lease form: the claim writes an expiry and commits; the expiry, together
// with the attempt where the table counts them, is the token that every later statement is fenced by.
type Lease interface {
	Dialect
	// LeaseClaim takes claimable rows in claim order.
	LeaseClaim(t *Table, s Selection) LeaseClaim
	// LeaseExtend moves the expiry of held rows to Expiry, and never back.
	LeaseExtend(t *Table) Held
	// LeaseFinish removes rows, or marks them processed.
	LeaseFinish(t *Table) Held
	// LeaseReturn gives rows back: due again at Until, with the attempt put back to Restore, with
	// Reason kept. Without a retry_after column Until keeps the row hidden in its lease column.
	LeaseReturn(t *Table) Held
	// LeaseMoveToGroup moves rows to the group Target as dead letters.
	LeaseMoveToGroup(t *Table) Held
	// LeaseMoveToTable moves rows to another table with the same columns as dead letters.
	LeaseMoveToTable(t, target *Table) Held
	// LeaseHeld answers one row, whatever is in it, while a row still holds its token, whoever has
	// locked it.
	LeaseHeld(t *Table) Statement
}

// LeaseClaim is a claim. Its statements run in one transaction where there is more than one.
type LeaseClaim struct {
	// Take answers the claimed rows. Where Stamp is set it only locks and reads them; otherwise it
	// writes Expiry, counts the attempt and answers the row as it is afterwards.
	Take Statement
	// Stamp writes Expiry into the list of rows that Take answered and counts their attempt.
	Stamp *Statement
	// Reread answers the token that Stamp left in one row (which is that of all of them), as the
	// column keeps it.
	Reread *Statement
	// Ordered says that Take answers in claim order.
	Ordered bool
}

// Held is a change to rows that a delivery holds, fenced by its token. Its statements run in one
// transaction.
type Held struct {
	// Many changes the rows of a list (or of arrays) at once, in key order, passing over those that
	// another session has locked. It answers the ordinal of each row changed, and for an extension
	// the new token, unless Lock came before it: then it changes exactly the rows that Lock found.
	Many *Statement
	// Direct does what Many does, but waits for rows that another session has locked; nil where Many costs no
	// more.
	Direct *Statement
	// Whole changes the rows of a list, [Size] of them, that share a token and the attempt behind it: all of them, or none where
	// one is no longer held or locked by another session, for which it does not wait. It is a transaction of its own; nil where
	// the database answers what it changed.
	Whole *Statement
	// Partial says that Whole may as well change some of the rows alone: it is run in a transaction then, which is rolled
	// back unless it has changed them all.
	Partial bool
	// Lock, where the database cannot answer what it changed, locks the rows of a list that nobody
	// else has locked and answers their keys, tokens and attempts, for the caller to compare.
	Lock *Statement
	// One changes one row by statements that run in order, where the database cannot change a list
	// at once; it is used where Many is nil. A statement that changes no row ends it: the row was
	// not held.
	One []Statement
	// Reread answers the keys and tokens of the rows of a list, after an extension that answers no
	// tokens.
	Reread *Statement
}
