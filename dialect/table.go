package dialect

import (
	"fmt"
	"slices"
)

// Role is the part that a column of a user's table plays in its queue. A role plays on one column,
// and a column plays one role. The key of a table is not a role: see [Table.ID].
type Role uint8

const (
	// Group holds the name of the queue that a row waits in.
	Group Role = iota
	// Priority orders rows: a smaller value is claimed first, NULL last.
	Priority
	// PartitionKey names the rows whose order a thread keeps.
	PartitionKey
	// RetryAfter hides a row until its time has come.
	RetryAfter
	// Attempt counts deliveries from 1.
	Attempt
	// ProcessedAt marks a finished row, which is deleted where no column plays the role.
	ProcessedAt
	// LockedUntil holds the expiry of a lease.
	LockedUntil
	// Headers holds a JSON object for the handler.
	Headers
	// Payload holds the bytes for the handler.
	Payload
	// Error keeps what the last failed delivery said.
	Error
	// Origin keeps where a dead letter came from.
	Origin
	// CreatedAt holds when the row was written.
	CreatedAt

	roleCount
)

var roleNames = [roleCount]string{
	"group", "priority", "partition_key", "retry_after", "attempt", "processed_at",
	"locked_until", "headers", "payload", "error", "origin", "created_at",
}

// String is the role's key in inbox.toml.
func (r Role) String() string { return roleNames[r] }

// Roles lists every role.
func Roles() []Role {
	roles := make([]Role, roleCount)
	for i := range roles {
		roles[i] = Role(i)
	}
	return roles
}

// Kind is what a column's type can hold, as far as a role cares.
type Kind uint8

const (
	// Other is a type that no role can use.
	Other Kind = iota
	// Integer holds whole numbers.
	Integer
	// Number holds numbers with a fraction.
	Number
	// Text holds characters.
	Text
	// Bytes holds bytes.
	Bytes
	// Time holds an instant.
	Time
	// JSON holds a JSON value that the database has parsed.
	JSON
	// Identifier holds a value with a text form of its own, such as a UUID.
	Identifier
)

var kindNames = [...]string{"other", "integer", "number", "text", "bytes", "time", "JSON", "identifier"}

func (k Kind) String() string { return kindNames[k] }

// Column is one column as its database describes it.
type Column struct {
	Name string
	// Type is the type's name in the database's own words, fit for a cast.
	Type string
	Kind Kind
	// Max is the largest value of an integer type, 0 for the other kinds.
	Max int64
	// Precision is the number of sub-second digits that a time keeps, at most 6.
	Precision int
	// Primary columns are of the table's primary key.
	Primary bool
	// Nullable columns take NULL.
	Nullable bool
	// Generated columns are computed by the database and cannot be written.
	Generated bool
	// AlwaysIdentity columns refuse a value of their own unless the statement overrides them.
	AlwaysIdentity bool
}

// Table is a user's table: its name, which of its columns play which role, and, once the database
// was asked, what its columns are.
type Table struct {
	// Schema is empty where the connection's own search order finds the table.
	Schema string
	Name   string
	// ID names the columns of the key, in order.
	ID []string
	// Roles names the column of each role that the table has.
	Roles map[Role]string
	// Data lists the columns that row mode hands over beside the key; nil is the whole row.
	Data []string
	// FIFO tables keep one row of a group in work at a time, in claim order.
	FIFO bool
	// Key is the lock key of a row in the advisory lock form, and nil in the others.
	Key []KeyPart
	// DatabaseClock tables go by the database's time and not by the host's.
	DatabaseClock bool
	// OnConflict names the columns of the unique index by which a row that is inserted is there already, and is left
	// out then; nil for none.
	OnConflict []string
	// Columns are the table's columns in its own order, as [Dialect.Describe] answered.
	Columns []Column
	// Partitioned tables have no row addresses that are unique in the whole table: tables of several
	// parts, and views.
	Partitioned bool
}

// Has reports whether a column plays the role.
func (t *Table) Has(r Role) bool { return t.Roles[r] != "" }

// Column is the column that plays the role, and the zero Column where none does.
func (t *Table) Column(r Role) Column {
	if !t.Has(r) {
		return Column{}
	}
	return t.Named(t.Roles[r])
}

// Named is the column of that name; one that was not described has a name alone.
func (t *Table) Named(name string) Column {
	if i := slices.IndexFunc(t.Columns, func(c Column) bool { return c.Name == name }); i >= 0 {
		return t.Columns[i]
	}
	return Column{Name: name}
}

// IDColumns are the columns of the key.
func (t *Table) IDColumns() []Column {
	columns := make([]Column, len(t.ID))
	for i, name := range t.ID {
		columns[i] = t.Named(name)
	}
	return columns
}

// KeyIsPrimary reports whether the rows are named by the table's primary key.
func (t *Table) KeyIsPrimary() bool {
	n := 0
	for _, c := range t.Columns {
		if c.Primary {
			n++
		}
	}
	return n == len(t.ID) && !slices.ContainsFunc(t.IDColumns(), func(c Column) bool { return !c.Primary })
}

// Markable reports whether a claim can begin where the last one ended: the claim order is that of retry_after and one
// column of whole numbers, and has no priorities, of which new rows would come first.
func (t *Table) Markable() bool {
	return len(t.ID) == 1 && t.IDColumns()[0].Kind == Integer && !t.Has(Priority)
}

// String is the table's name as a person writes it.
func (t *Table) String() string {
	if t.Schema == "" {
		return t.Name
	}
	return t.Schema + "." + t.Name
}

// Kinds lists the kinds of column that can play the role, on a database whose types mean what their
// names say.
func (r Role) Kinds() []Kind { return kindsOf[r] }

var kindsOf = [roleCount][]Kind{
	Group:        {Text, Integer, Identifier},
	Priority:     {Integer, Number, Text},
	PartitionKey: {Text, Integer, Identifier, Bytes},
	RetryAfter:   {Time},
	Attempt:      {Integer},
	ProcessedAt:  {Time},
	LockedUntil:  {Time},
	Headers:      {JSON, Text},
	Payload:      {Bytes, Text, JSON},
	Error:        {Text},
	Origin:       {Text},
	CreatedAt:    {Time},
}

// Flaw is one way in which a described table cannot be what its description in inbox.toml says.
type Flaw struct {
	// Role is the key in inbox.toml: a role's name or "id".
	Role string
	// Column is the column that should play it.
	Column string
	// What is wrong, as a sentence without its end.
	What string
	// Remedy says what to do.
	Remedy string
}

// Check compares the roles with the columns that the database described.
func (t *Table) Check(d Dialect) []Flaw {
	var flaws []Flaw
	missing := func(role, column string) bool {
		if slices.ContainsFunc(t.Columns, func(c Column) bool { return c.Name == column }) {
			return false
		}
		flaws = append(flaws, Flaw{role, column, fmt.Sprintf("table %s has no column %q", t, column),
			"name one of its columns: " + t.columnNames()})
		return true
	}
	for _, name := range t.ID {
		if missing("id", name) {
			continue
		}
		if c := t.Named(name); c.Kind == Other || c.Kind == JSON {
			flaws = append(flaws, Flaw{"id", name,
				fmt.Sprintf("column %q of table %s has type %s, which cannot name a row", name, t, c.Type),
				"use a column that compares for equality and order, such as bigint, uuid or text"})
		}
	}
	for _, name := range t.Data {
		missing("columns", name)
	}
	if _, ok := d.(Rows); !ok && !t.Has(Payload) {
		flaws = append(flaws, Flaw{Payload.String(), "", fmt.Sprintf("table %s has no payload, and %s has no row mode", t, d.Name()),
			"name the column with the handler's bytes"})
	}
	for _, part := range t.Key {
		if part.Column != "" {
			missing("advisory_lock", part.Column)
		}
	}
	for _, role := range Roles() {
		if !t.Has(role) || missing(role.String(), t.Roles[role]) {
			continue
		}
		c := t.Column(role)
		if kinds := d.Kinds(role); !slices.Contains(kinds, c.Kind) {
			flaws = append(flaws, Flaw{role.String(), c.Name,
				fmt.Sprintf("column %q of table %s has type %s, which cannot play %s", c.Name, t, c.Type, role),
				"it needs a type that holds " + kindList(kinds)})
			continue
		}
		if mustBeNullable(role) && !c.Nullable {
			flaws = append(flaws, Flaw{role.String(), c.Name,
				fmt.Sprintf("column %q of table %s is NOT NULL, but %s is empty until a row needs it", c.Name, t, role),
				"drop the NOT NULL constraint"})
		}
	}
	return flaws
}

// mustBeNullable roles hold NULL for a row that is free, unfinished or has not failed.
func mustBeNullable(r Role) bool {
	return r == LockedUntil || r == ProcessedAt || r == Error || r == Origin
}

func (t *Table) columnNames() string {
	text := ""
	for i, c := range t.Columns {
		if i > 0 {
			text += ", "
		}
		text += c.Name
	}
	return text
}

func kindList(kinds []Kind) string {
	text := ""
	for i, k := range kinds {
		switch {
		case i > 0 && i == len(kinds)-1:
			text += " or "
		case i > 0:
			text += ", "
		}
		text += k.String()
	}
	return text
}
