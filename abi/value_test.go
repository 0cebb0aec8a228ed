package abi

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestAppendValue(t *testing.T) {
	for _, c := range []struct {
		kind       ValueKind
		text, want string
	}{
		{ValueText, "", `""`},
		{ValueText, "größer <&> \u2028", "\"größer <&> \u2028\""},
		{ValueText, "a\"b\\c\n\r\t\x00\x1f\x7f", "\"a\\\"b\\\\c\\n\\r\\t\\u0000\\u001f\x7f\""},
		{ValueInteger, "0", "0"},
		{ValueInteger, "-9223372036854775808", "-9223372036854775808"},
		{ValueInteger, "18446744073709551615", "18446744073709551615"},
		{ValueInteger, "00042", "42"},
		{ValueInteger, "0000", "0"},
		{ValueInteger, "", `""`},
		{ValueInteger, "12a", `"12a"`},
		{ValueNumber, "12.50", "12.50"},
		{ValueNumber, "-0000.50", "-0.50"},
		{ValueNumber, "123456789012345678901234567890.123456789012345678901234567890", "123456789012345678901234567890.123456789012345678901234567890"},
		{ValueNumber, "NaN", `"NaN"`},
		{ValueNumber, "-Infinity", `"-Infinity"`},
		{ValueNumber, "true", `"true"`},
		{ValueNumber, "-", `"-"`},
		{ValueFloat, "0.1", "0.1"},
		{ValueFloat, "1e+20", "1e+20"},
		{ValueFloat, "1.7976931348623157e+308", "1.7976931348623157e+308"},
		{ValueFloat, "5e-324", "5e-324"},
		{ValueFloat, "-0", "-0"},
		{ValueFloat, "NaN", `"NaN"`},
		{ValueFloat, "+Inf", `"Infinity"`},
		{ValueFloat, "-Infinity", `"-Infinity"`},
		{ValueFloat, "odd", `"odd"`},
		{ValueSingle, "0.10000000149011612", "0.1"},
		{ValueSingle, "16777216", "1.6777216e+07"},
		{ValueBoolean, "t", "true"},
		{ValueBoolean, "false", "false"},
		{ValueBytes, "", `{"base64":""}`},
		{ValueBytes, "\x00\xff", `{"base64":"AP8="}`},
		{ValueTime, "2026-02-03 04:05:06", `"2026-02-03T04:05:06Z"`},
		{ValueTime, "2026-02-03 04:05:06.120000", `"2026-02-03T04:05:06.12Z"`},
		{ValueTime, "2026-02-03 04:05:06.123456+00", `"2026-02-03T04:05:06.123456Z"`},
		{ValueTime, "2026-02-03 04:05:06+05:30", `"2026-02-03T04:05:06+05:30"`},
		{ValueTime, "2026-02-03T04:05:06.5Z", `"2026-02-03T04:05:06.5Z"`},
		{ValueTime, "infinity", `"infinity"`},
		{ValueTime, "0044-03-15 00:00:00+00 BC", `"0044-03-15 00:00:00+00 BC"`},
		{ValueTime, "10000-01-01 00:00:00+00", `"10000-01-01 00:00:00+00"`},
		{ValueTime, "0000-00-00 00:00:00", `"0000-00-00 00:00:00"`},
		{ValueJSON, `{"a": [1.50, null]}`, `{"a": [1.50, null]}`},
	} {
		got, err := AppendValue([]byte("x"), c.kind, []byte(c.text))
		if err != nil || string(got) != "x"+c.want {
			t.Errorf("%s %q = %s, %v; want %s", c.kind, c.text, got, err, c.want)
		}
		if !json.Valid(got[1:]) {
			t.Errorf("%s %q = %s, which is not JSON", c.kind, c.text, got)
		}
	}
}

func TestAppendValueOfNull(t *testing.T) {
	for kind := ValueText; kind <= ValueAny; kind++ {
		if got, err := AppendValue(nil, kind, nil); err != nil || string(got) != "null" {
			t.Errorf("%s: %s, %v", kind, got, err)
		}
	}
}

func TestAppendValueRefuses(t *testing.T) {
	for _, c := range []struct {
		kind       ValueKind
		text, want string
	}{
		{ValueText, "a\xff", "not UTF-8"},
		{ValueText, "a\xe2\x82", "not UTF-8"},
		{ValueJSON, `{"a":`, "not valid JSON"},
		{ValueJSON, "", "not valid JSON"},
		{ValueJSON, "\"\xff\"", "not UTF-8"},
		{ValueBoolean, "maybe", "no boolean"},
	} {
		got, err := AppendValue([]byte("x"), c.kind, []byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) || string(got) != "x" {
			t.Errorf("%s %q = %q, %v", c.kind, c.text, got, err)
		}
	}
}

// Whatever bytes a database answers, the result is JSON or an error.
func FuzzAppendValue(f *testing.F) {
	for _, seed := range []string{"", "-", "0x10", "1_0", "1e5", "00", ".5", "5.", "2026-02-03 04:05:06", "\xff", "nan", "{}"} {
		for kind := ValueText; kind <= ValueAny; kind++ {
			f.Add(uint8(kind), []byte(seed))
		}
	}
	f.Fuzz(func(t *testing.T, kind uint8, value []byte) {
		got, err := AppendValue(nil, ValueKind(kind%uint8(ValueAny+1)), value)
		if err == nil && !json.Valid(got) {
			t.Errorf("%s %q = %q", ValueKind(kind%uint8(ValueAny+1)), value, got)
		}
	})
}
