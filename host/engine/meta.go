package engine

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// metaJSON is built once a message, so that asking for its length and then for itself agree.
func (c *call) metaJSON() []byte {
	if len(c.meta) == 0 {
		c.meta = c.appendMeta(c.meta)
	}
	return c.meta
}

func (c *call) appendMeta(b []byte) []byte {
	m := c.message
	b = appendString(append(b, `{"subscription":`...), m.Subscription)
	b = appendString(append(b, `,"table":`...), m.Table)
	b = appendString(append(b, `,"group":`...), m.Group)
	b = appendJSON(append(b, `,"id":`...), m.ID, "null")
	b = strconv.AppendInt(append(b, `,"attempt":`...), m.Attempt, 10)
	b = strconv.AppendInt(append(b, `,"max_attempts":`...), m.MaxAttempts, 10)
	b = append(b, `,"partition_key":`...)
	if m.HasPartitionKey {
		b = appendString(b, m.PartitionKey)
	} else {
		b = append(b, "null"...)
	}
	b = appendJSON(append(b, `,"headers":`...), m.Headers, "{}")
	b = append(b, `,"deadline_ms":`...)
	if left, ok := c.left(); ok {
		b = strconv.AppendInt(b, left.Milliseconds(), 10)
	} else {
		b = append(b, "null"...)
	}
	return append(b, '}')
}

// appendString writes s as JSON, without the escapes that only HTML needs.
func appendString(b []byte, s string) []byte {
	buf := bytes.NewBuffer(b)
	encoder := json.NewEncoder(buf)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(s) // a string and a bytes.Buffer cannot fail
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
}

// appendJSON copies JSON text. What is not JSON would make the whole object unreadable, and becomes a string.
func appendJSON(b, text []byte, absent string) []byte {
	switch {
	case len(text) == 0:
		return append(b, absent...)
	case json.Valid(text):
		return append(b, text...)
	}
	return appendString(b, string(text))
}
