package dialect

import (
	"strconv"
	"strings"

	"github.com/inbox-wasm/inbox-wasm/abi"
)

// Param names what a placeholder binds.
type Param struct {
	Name ParamName
	// Part is the index of the key's column for [ID] and [IDs], of the group for [Except] and [DeadGroup], and of the
	// column for [LeftOut], where the keys follow each other.
	Part int
}

// ParamName is the name of a value that a statement binds.
type ParamName string

// The values that statements bind. Times are bound as text in UTC, in the form that
// [Dialect.FormatTime] gives.
const (
	// Now is the instant of the claim or settlement.
	Now ParamName = "now"
	// Expiry is the end of the lease that a claim or an extension writes.
	Expiry ParamName = "expiry"
	// Limit is the number of rows that a claim may take.
	Limit ParamName = "limit"
	// GroupName is the group that a subscription reads.
	GroupName ParamName = "group"
	// Except is a group that a subscription to all groups leaves out.
	Except ParamName = "except"
	// LeftOut is one column of the key of a row that a claim leaves out.
	LeftOut ParamName = "left out"
	// After is the last group that was looked at, and Page how many are to be looked at next.
	After ParamName = "after"
	Page  ParamName = "page"
	// MarkKey is the key of the row that a claim begins at, and MarkTime its retry_after.
	MarkKey  ParamName = "mark"
	MarkTime ParamName = "mark time"
	// Offset is how many rows of a list are passed over, and Preview how much is read of what may be long.
	Offset  ParamName = "offset"
	Preview ParamName = "preview"
	// DeadGroup is a group whose rows are dead letters.
	DeadGroup ParamName = "dead group"
	// Cutoff is the instant before which rows are old.
	Cutoff ParamName = "cutoff"
	// Cap is the subscription's max_attempts.
	Cap ParamName = "cap"
	// Target is the group that a dead letter moves to.
	Target ParamName = "target"
	// From is the table that a dead letter came from, for its origin column.
	From ParamName = "from"

	// ID is one column of a row's key; IDs is the same for every row of a list, as an array.
	ID  ParamName = "id"
	IDs ParamName = "ids"
	// Token is the expiry that a delivery holds its row by, as the database rendered it.
	Token  ParamName = "token"
	Tokens ParamName = "tokens"
	// Count is the attempt that a delivery's claim left in the row: the token's second half.
	Count  ParamName = "count"
	Counts ParamName = "counts"
	// Size is how many rows a list is about.
	Size ParamName = "size"
	// Until is when a returned row is due again, NULL for at once.
	Until  ParamName = "until"
	Untils ParamName = "untils"
	// Delay is the same in microseconds from now, for a table that goes by the database's clock.
	Delay ParamName = "delay"
	// Restore is the attempt to write back, NULL to keep the one that the claim counted.
	Restore  ParamName = "restore"
	Restores ParamName = "restores"
	// Reason is what a failed delivery said, NULL to keep what the row has.
	Reason  ParamName = "reason"
	Reasons ParamName = "reasons"

	// LockKey is the text of a lock's key, LockName what the database calls the lock, and LockNames
	// an array of such names.
	LockKey   ParamName = "lock"
	LockName  ParamName = "name"
	LockNames ParamName = "names"
	// SessionID names a session on its server.
	SessionID ParamName = "session"

	// Value is the value of a column of an inserted row, by its role.
	Value ParamName = "value"
	// Data is the value of a column of an inserted row, by the column's index in its table.
	Data ParamName = "data"
)

// String is the parameter's name, with its part where it has one.
func (p Param) String() string {
	switch p.Name {
	case ID, IDs, Except, LeftOut, Data, DeadGroup:
		return string(p.Name) + "[" + strconv.Itoa(p.Part) + "]"
	case Value:
		return string(p.Name) + "[" + Role(p.Part).String() + "]"
	default:
		return string(p.Name)
	}
}

// Field names what a column of a statement's answer holds.
type Field uint8

// The columns that statements answer. Every column is answered as text or bytes.
const (
	FieldID Field = iota
	FieldToken
	FieldAttempt
	FieldGroup
	FieldPartitionKey
	FieldHeaders
	FieldPayload
	FieldPriority
	FieldRetryAfter
	// FieldOrdinal is the position, from 1, of a row in the list that the statement was given.
	FieldOrdinal
	// FieldLock is the text of a row's lock key, FieldName the name of the lock as the database tells
	// it from others.
	FieldLock
	FieldName
	// FieldColumn is a column of a row in row mode, and FieldKind the name of the next one's kind, where
	// each value has its own.
	FieldColumn
	FieldKind
)

var fieldNames = [...]string{"id", "token", "attempt", "group", "partition_key", "headers", "payload",
	"priority", "retry_after", "ordinal", "lock", "name", "column", "kind"}

func (f Field) String() string { return fieldNames[f] }

// Output is one column of an answer.
type Output struct {
	Field Field
	// Part is the index of the key's column for [FieldID], and of the table's for [FieldColumn].
	Part int
	// Kind is what a [FieldColumn] holds.
	Kind abi.ValueKind
}

// Statement is the text of one statement, the names of what its placeholders bind, in their order,
// and the names of the columns that it answers, in theirs.
type Statement struct {
	// SQL is the text. A statement about a list holds [ListMark] once, where the items go.
	SQL    string
	Params []Param
	// Item is the text that stands once for each row of a list, with the placeholders for
	// ItemParams. It is empty for a statement that takes arrays or no list.
	Item       string
	ItemParams []Param
	// Behind is how many of Params, the last ones, stand behind the list in the text.
	Behind  int
	Returns []Output
}

// ListMark stands in a statement's text for its list of items. No name of a table or a column holds
// its bytes.
const ListMark = "\x00list\x00"

// IsList reports whether the text changes with the number of rows it is about.
func (s *Statement) IsList() bool { return s.Item != "" }

// Text is the SQL for a list of n rows, and simply the SQL for every other statement.
func (s *Statement) Text(n int) string {
	if !s.IsList() {
		return s.SQL
	}
	before, after, _ := strings.Cut(s.SQL, ListMark)
	var text strings.Builder
	text.Grow(len(before) + len(after) + n*(len(s.Item)+2))
	text.WriteString(before)
	for i := range n {
		if i > 0 {
			text.WriteString(", ")
		}
		text.WriteString(s.Item)
	}
	text.WriteString(after)
	return text.String()
}

// Golden is the statement as text with its names: what the golden files hold.
func (s *Statement) Golden() string {
	var text strings.Builder
	text.WriteString(strings.ReplaceAll(s.SQL, ListMark, "/*list*/"))
	text.WriteString(";\n")
	line := func(name string, items []string) {
		if len(items) > 0 {
			text.WriteString("-- " + name + ": " + strings.Join(items, ", ") + "\n")
		}
	}
	line("binds", paramNames(s.Params))
	if s.IsList() {
		line("list", []string{s.Item})
		line("list binds", paramNames(s.ItemParams))
	}
	outputs := make([]string, len(s.Returns))
	for i, o := range s.Returns {
		outputs[i] = o.Field.String()
		if o.Field == FieldID || o.Field == FieldColumn || o.Field == FieldKind {
			outputs[i] += "[" + strconv.Itoa(o.Part) + "]"
		}
	}
	line("answers", outputs)
	return text.String()
}

func paramNames(params []Param) []string {
	names := make([]string, len(params))
	for i, p := range params {
		names[i] = p.String()
	}
	return names
}
