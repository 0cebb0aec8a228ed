package sqlite

import (
	"strings"

	"github.com/inbox-wasm/inbox-wasm/abi"
	"github.com/inbox-wasm/inbox-wasm/dialect"
)

// Answered implements [dialect.Rows]. A column's type is a suggestion here, and each value has a class of
// its own, which decides:
//
//	INTEGER    an exact number; in a column declared BOOLEAN 0 and 1 are false and true
//	REAL       a number; an infinity is a string
//	TEXT       a string; in a column declared DATETIME or TIMESTAMP an instant as RFC 3339, in UTC where
//	           it has no zone, and what is no instant as it is; in a column declared JSON the JSON itself
//	BLOB       {"base64":".."}
//	NULL       null
//
// The unary plus changes no value. It keeps the driver from reading a column by its declared type.
func (Dialect) Answered(c dialect.Column, name string) dialect.Answered {
	declared := strings.ToUpper(c.Type)
	is := func(part string) bool { return strings.Contains(declared, part) }
	text, integer := abi.ValueText, quoted(abi.ValueInteger)
	switch {
	case is("DATETIME"), is("TIMESTAMP"):
		text = abi.ValueTime
	case is("JSON"):
		text = abi.ValueJSON
	case is("BOOL"):
		integer = "CASE WHEN " + name + " IN (0, 1) THEN " + quoted(abi.ValueBoolean) + " ELSE " + integer + " END"
	}
	own := "CASE typeof(" + name + ") WHEN 'integer' THEN " + integer + " WHEN 'real' THEN " + quoted(abi.ValueFloat) +
		" WHEN 'blob' THEN " + quoted(abi.ValueBytes) + " WHEN 'text' THEN " + quoted(text) + " END"
	return dialect.Answered{Expression: "+" + name, OwnKind: own, Kind: affinity(declared)}
}

func quoted(kind abi.ValueKind) string { return "'" + kind.String() + "'" }

// affinity is the kind that a column prefers, by the rules of SQLite's documentation, section 3.1 of
// "Datatypes In SQLite".
func affinity(declared string) abi.ValueKind {
	is := func(part string) bool { return strings.Contains(declared, part) }
	switch {
	case is("INT"):
		return abi.ValueInteger
	case is("CHAR"), is("CLOB"), is("TEXT"):
		return abi.ValueText
	case is("BLOB"), declared == "":
		return abi.ValueAny
	case is("DATETIME"), is("TIMESTAMP"):
		return abi.ValueTime
	case is("JSON"):
		return abi.ValueJSON
	}
	return abi.ValueNumber
}
