package mysql

import (
	"strings"

	"github.com/inbox-wasm/inbox-wasm/abi"
	"github.com/inbox-wasm/inbox-wasm/dialect"
)

// valueKinds are the types that are not text in JSON:
//
//	tinyint … bigint, signed or not, year    an exact number; zerofill's padding is left out
//	boolean, which is tinyint(1)             a number, 0 or 1: the column can hold others
//	bit                                      the number that its bits are
//	decimal                                  an exact number with its digits
//	float                                    the shortest number that is the same in 32 bits
//	double                                   a number
//	binary, varbinary, blob, geometry,       {"base64":".."}
//	vector
//	datetime, timestamp                      RFC 3339, in UTC; a date of zeros is its text
//	json, on MariaDB too                     itself
//
// Every other type is its text: char, varchar, text, enum, set ("a,b"), date, time, uuid, inet4, inet6.
var valueKinds = map[string]abi.ValueKind{
	"tinyint": abi.ValueInteger, "smallint": abi.ValueInteger, "mediumint": abi.ValueInteger,
	"int": abi.ValueInteger, "bigint": abi.ValueInteger, "year": abi.ValueInteger, "bit": abi.ValueInteger,
	"decimal": abi.ValueNumber, "float": abi.ValueSingle, "double": abi.ValueFloat,
	"binary": abi.ValueBytes, "varbinary": abi.ValueBytes, "tinyblob": abi.ValueBytes, "blob": abi.ValueBytes,
	"mediumblob": abi.ValueBytes, "longblob": abi.ValueBytes, "vector": abi.ValueBytes,
	"geometry": abi.ValueBytes, "point": abi.ValueBytes, "linestring": abi.ValueBytes, "polygon": abi.ValueBytes,
	"multipoint": abi.ValueBytes, "multilinestring": abi.ValueBytes, "multipolygon": abi.ValueBytes,
	"geometrycollection": abi.ValueBytes, "geomcollection": abi.ValueBytes,
	"datetime": abi.ValueTime, "timestamp": abi.ValueTime, "json": abi.ValueJSON,
}

// Answered implements [dialect.Rows]. The server writes bits as raw bytes, and a float as text with six
// digits, which are not all that it has.
func (Dialect) Answered(c dialect.Column, name string) dialect.Answered {
	typeName := base(strings.ToLower(c.Type))
	switch typeName {
	case "bit":
		name += " + 0"
	case "float":
		name += " + 0E0"
	}
	return dialect.Answered{Expression: name, Kind: valueKinds[typeName]}
}
