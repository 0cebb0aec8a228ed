package abi

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"
)

// ReadValue is the inverse of [AppendValue]: the value of SQL that JSON text stands for, in a column that
// prefers the kind. It is one of
//
//	nil          null
//	bool         true, false
//	int64        a whole number that is one
//	json.Number  any other number, with its digits
//	string       a string; an array or an object as its JSON text; in a column of JSON the JSON text of any value
//	[]byte       {"base64":".."}, and a string in a column of bytes
//	time.Time    a string that is an instant with a zone, in a column of instants
func ReadValue(kind ValueKind, text []byte) (any, error) {
	text = bytes.TrimSpace(text)
	if !json.Valid(text) {
		return nil, errors.New("it is not valid JSON")
	}
	if text[0] == '{' {
		if b, ok := readBytes(text); ok && kind != ValueJSON {
			return b, nil
		}
	}
	switch {
	case string(text) == "null":
		return nil, nil
	case kind == ValueJSON, text[0] == '{', text[0] == '[':
		return string(text), nil
	case text[0] == 't', text[0] == 'f':
		return text[0] == 't', nil
	case text[0] == '"':
		return readText(kind, text)
	}
	if n, err := strconv.ParseInt(string(text), 10, 64); err == nil {
		return n, nil
	}
	return json.Number(text), nil
}

// readBytes reads {"base64":".."} and nothing else.
func readBytes(text []byte) ([]byte, bool) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil || len(members) != 1 || members["base64"] == nil {
		return nil, false
	}
	var b []byte
	if err := json.Unmarshal(members["base64"], &b); err != nil || b == nil {
		return nil, false
	}
	return b, true
}

func readText(kind ValueKind, text []byte) (any, error) {
	var s string
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, err
	}
	switch kind {
	case ValueBytes:
		return []byte(s), nil
	case ValueTime:
		// Without a zone it is the database's own text, and means there what it means here.
		if t, err := time.Parse(time.RFC3339Nano, strings.ToUpper(s)); err == nil {
			return t, nil
		}
	}
	return s, nil
}
