package mssql

import (
	"slices"

	"github.com/inbox-wasm/inbox-wasm/abi"
	"github.com/inbox-wasm/inbox-wasm/dialect"
)

var _ dialect.Rows = Dialect{}

// valueKinds are the types that are not text in JSON:
//
//	tinyint, smallint, int, bigint             an exact number
//	decimal, numeric, money, smallmoney        an exact number with its digits
//	float, real                                a number
//	bit                                        true or false
//	binary, varbinary, image, rowversion       {"base64":".."}
//	datetime2, datetime, smalldatetime         RFC 3339: they hold UTC
//	datetimeoffset                             the same, in UTC
//	json                                       itself
//
// Every other type is its text: char, varchar, nchar, nvarchar, date, time, uniqueidentifier, xml,
// hierarchyid, geography, geometry, sql_variant.
var valueKinds = map[string]abi.ValueKind{
	"tinyint": abi.ValueInteger, "smallint": abi.ValueInteger, "int": abi.ValueInteger, "bigint": abi.ValueInteger,
	"decimal": abi.ValueNumber, "numeric": abi.ValueNumber, "money": abi.ValueNumber, "smallmoney": abi.ValueNumber,
	"float": abi.ValueFloat, "real": abi.ValueSingle, "bit": abi.ValueBoolean,
	"binary": abi.ValueBytes, "varbinary": abi.ValueBytes, "image": abi.ValueBytes, "timestamp": abi.ValueBytes,
	"datetime2": abi.ValueTime, "datetime": abi.ValueTime, "smalldatetime": abi.ValueTime, "datetimeoffset": abi.ValueTime,
	"json": abi.ValueJSON,
}

// Answered implements [dialect.Rows].
func (Dialect) Answered(c dialect.Column, name string) dialect.Answered {
	kind := valueKinds[base(c.Type)]
	expression := name
	switch base(c.Type) {
	case "datetimeoffset":
		expression = "CONVERT(nvarchar(34), CONVERT(datetime2, SWITCHOFFSET(" + name + ", '+00:00')), 121)"
	case "datetime", "smalldatetime", "date", "time":
		expression = "CONVERT(nvarchar(34), " + name + ", 121)"
	case "money", "smallmoney":
		expression = "CONVERT(nvarchar(34), " + name + ", 2)" // with four digits, which are all
	default:
		if kind != abi.ValueBytes {
			expression = text(c, name)
		}
	}
	return dialect.Answered{Expression: expression, Kind: kind}
}

// InsertRow implements [dialect.Rows].
func (Dialect) InsertRow(t *dialect.Table, roles []dialect.Role, columns []int) dialect.Statement {
	s := grammar.InsertRow(t, roles, columns)
	if slices.ContainsFunc(columns, func(i int) bool { return t.Columns[i].AlwaysIdentity }) {
		s.SQL = withIdentity(t, s.SQL)
	}
	return s
}
