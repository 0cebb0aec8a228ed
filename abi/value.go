package abi

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"
)

// ValueKind says how a value of SQL is written as JSON, in rows, in the results of db and in the rows that
// publish takes. Databases answer values as text or bytes; each dialect says which of its types are of which
// kind. NULL is null, whatever the kind.
//
//	kind      the database's text           JSON
//	text      any                           a string
//	integer   -7, 00042                     an exact number, however large: -7, 42
//	number    12.50, NaN                    an exact number with all of its digits: 12.50; else a string: "NaN"
//	float     0.1, 1e+20, -inf              the number; "NaN", "Infinity" and "-Infinity" are strings
//	single    0.10000000149011612           the shortest number that is the same in 32 bits: 0.1
//	boolean   t, true, 1                    true, false
//	bytes     any bytes                     {"base64":".."}
//	time      2026-02-03 04:05:06.5+00      RFC 3339: "2026-02-03T04:05:06.5Z"; a time without a zone is UTC. What
//	                                        RFC 3339 cannot say is the database's own text: "infinity"
//	json      a JSON value                  itself
//	any       any                           as the value's own kind says, where the database gives each value one
//
// Dates, times of day, intervals, UUIDs, enumerations, addresses, arrays and all that is not listed are text.
type ValueKind uint8

// The kinds of values.
const (
	ValueText ValueKind = iota
	ValueInteger
	ValueNumber
	ValueFloat
	ValueSingle
	ValueBoolean
	ValueBytes
	ValueTime
	ValueJSON
	ValueAny
)

var valueKinds = [...]string{"text", "integer", "number", "float", "single", "boolean", "bytes", "time", "json", "any"}

func (k ValueKind) String() string { return valueKinds[k] }

var errUTF8 = errors.New("it is not UTF-8")

// AppendValue appends a value as JSON. The value is the database's text or bytes, nil for NULL. It fails, with
// b as it was, for what no JSON text can hold.
func AppendValue(b []byte, kind ValueKind, value []byte) ([]byte, error) {
	if value == nil {
		return append(b, "null"...), nil
	}
	switch kind {
	case ValueInteger, ValueNumber:
		return appendDigits(b, value)
	case ValueFloat:
		return appendFloat(b, value, 64)
	case ValueSingle:
		return appendFloat(b, value, 32)
	case ValueBoolean:
		return appendBoolean(b, value)
	case ValueBytes:
		b = append(b, `{"base64":"`...)
		return append(base64.StdEncoding.AppendEncode(b, value), `"}`...), nil
	case ValueTime:
		return appendTime(b, value)
	case ValueJSON:
		if !utf8.Valid(value) {
			return b, errUTF8
		}
		if !json.Valid(value) {
			return b, errors.New("it is not valid JSON")
		}
		return append(b, value...), nil
	}
	return AppendText(b, value)
}

// AppendText appends text as a JSON string.
func AppendText[T string | []byte](b []byte, text T) ([]byte, error) {
	start := len(b)
	b = append(b, '"')
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
			i++
		case c < ' ':
			b = appendControl(b, c)
			i++
		case c < utf8.RuneSelf:
			b = append(b, c)
			i++
		default:
			r, size := utf8.DecodeRuneInString(string(text[i:min(i+utf8.UTFMax, len(text))]))
			if r == utf8.RuneError && size == 1 {
				return b[:start], errUTF8
			}
			b = append(b, text[i:i+size]...)
			i += size
		}
	}
	return append(b, '"'), nil
}

func appendControl(b []byte, c byte) []byte {
	switch c {
	case '\n':
		return append(b, `\n`...)
	case '\r':
		return append(b, `\r`...)
	case '\t':
		return append(b, `\t`...)
	}
	const hex = "0123456789abcdef"
	return append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}

// appendDigits keeps a number's text, since no conversion could add to it. A column that pads its numbers with
// zeros loses the padding; what is no number stays text.
func appendDigits(b, text []byte) ([]byte, error) {
	digits, negative := bytes.CutPrefix(text, []byte("-"))
	for len(digits) > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9' {
		digits = digits[1:]
	}
	if len(digits) == 0 || digits[0] < '0' || digits[0] > '9' || !json.Valid(digits) {
		return AppendText(b, text)
	}
	if negative {
		b = append(b, '-')
	}
	return append(b, digits...), nil
}

func appendFloat(b, text []byte, bits int) ([]byte, error) {
	f, err := strconv.ParseFloat(string(text), 64)
	switch {
	case err != nil:
		return AppendText(b, text)
	case f != f:
		return append(b, `"NaN"`...), nil
	case f > maxFloat:
		return append(b, `"Infinity"`...), nil
	case f < -maxFloat:
		return append(b, `"-Infinity"`...), nil
	}
	return strconv.AppendFloat(b, f, 'g', -1, bits), nil
}

const maxFloat = 0x1p1023 * (1 + (1 - 0x1p-52))

func appendBoolean(b, text []byte) ([]byte, error) {
	switch string(text) {
	case "t", "true", "1":
		return append(b, "true"...), nil
	case "f", "false", "0":
		return append(b, "false"...), nil
	}
	return b, fmt.Errorf("%q is no boolean", text)
}

// timeLayouts are how databases and people write an instant; a fraction of a second may follow the seconds.
var timeLayouts = [...]string{
	"2006-01-02 15:04:05", "2006-01-02 15:04:05Z07", "2006-01-02 15:04:05Z07:00", "2006-01-02T15:04:05",
	"2006-01-02T15:04:05Z07:00", "2006-01-02 15:04",
}

// ParseTime reads an instant in any of the forms that databases write; one without a zone is UTC.
func ParseTime(text string) (time.Time, bool) {
	for _, layout := range timeLayouts {
		if t, err := time.Parse(layout, text); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

func appendTime(b, text []byte) ([]byte, error) {
	t, ok := ParseTime(string(text))
	if !ok || t.Year() > 9999 {
		return AppendText(b, text)
	}
	return t.AppendFormat(append(b, '"'), `2006-01-02T15:04:05.999999999Z07:00"`), nil
}

// ValueKindOf is the kind of that name.
func ValueKindOf(name string) (ValueKind, bool) {
	i := slices.Index(valueKinds[:], name)
	return ValueKind(max(i, 0)), i >= 0
}
