package postgres

import (
	"strings"

	"github.com/inbox-wasm/inbox-wasm/abi"
	"github.com/inbox-wasm/inbox-wasm/dialect"
)

// valueKinds are the types that are not text in JSON, by the name that format_type gives without its
// modifiers:
//
//	smallint, integer, bigint, oid    an exact number
//	numeric                           an exact number with its digits; NaN and infinities are strings
//	real, double precision            a number; NaN and infinities are strings
//	boolean                           true or false
//	bytea                             {"base64":".."}
//	timestamp with time zone          RFC 3339, in UTC; infinity is "infinity"
//	timestamp without time zone       the same: it holds UTC
//	json, jsonb                       itself
//
// Every other type is its text: character(n) without its padding, date, time, interval, uuid, inet, xml,
// money, ranges, arrays ("{1,2}"), enumerations, composite types and domains.
var valueKinds = map[string]abi.ValueKind{
	"smallint": abi.ValueInteger, "integer": abi.ValueInteger, "bigint": abi.ValueInteger, "oid": abi.ValueInteger,
	"numeric": abi.ValueNumber, "real": abi.ValueFloat, "double precision": abi.ValueFloat,
	"boolean": abi.ValueBoolean, "bytea": abi.ValueBytes,
	"timestamp with time zone": abi.ValueTime, "timestamp without time zone": abi.ValueTime,
	"json": abi.ValueJSON, "jsonb": abi.ValueJSON,
}

// Answered implements [dialect.Rows].
func (Dialect) Answered(c dialect.Column, name string) dialect.Answered { return answered(c, name) }

func answered(c dialect.Column, name string) dialect.Answered {
	if strings.HasSuffix(c.Type, "[]") {
		return dialect.Answered{Expression: name + "::text"}
	}
	kind := valueKinds[withoutModifier(c.Type)]
	if kind != abi.ValueBytes {
		name += "::text"
	}
	return dialect.Answered{Expression: name, Kind: kind}
}
