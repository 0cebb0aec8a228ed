package forms

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/inbox-wasm/inbox-wasm/dialect"
)

// ID is the key of a row: one value for each column of the key, an int64, a string or a []byte.
type ID []any

// String is the key for people: bytes in hexadecimal digits, columns joined by commas.
func (id ID) String() string {
	parts := make([]string, len(id))
	for i, part := range id {
		switch v := part.(type) {
		case []byte:
			parts[i] = fmt.Sprintf("%x", v)
		default:
			parts[i] = fmt.Sprint(v)
		}
	}
	return strings.Join(parts, ",")
}

// NewID reads the columns of a key from the texts that a database answers.
func NewID(columns []dialect.Column, values [][]byte) ID {
	id := make(ID, len(columns))
	for i, c := range columns {
		id[i] = idPart(c.Kind, values[i])
	}
	return id
}

// AppendJSON appends the key as a JSON value: a number, a string, bytes as {"base64":".."}, and an
// array of them for a key of several columns.
func (id ID) AppendJSON(text []byte) []byte {
	if len(id) == 1 {
		return appendJSON(text, id[0])
	}
	text = append(text, '[')
	for i, part := range id {
		if i > 0 {
			text = append(text, ',')
		}
		text = appendJSON(text, part)
	}
	return append(text, ']')
}

func appendJSON(text []byte, part any) []byte {
	switch v := part.(type) {
	case int64:
		return strconv.AppendInt(text, v, 10)
	case []byte:
		text = append(text, `{"base64":"`...)
		return append(base64.StdEncoding.AppendEncode(text, v), `"}`...)
	default:
		encoded, err := json.Marshal(v)
		if err != nil {
			// A string always encodes.
			panic(err)
		}
		return append(text, encoded...)
	}
}

// mapKey tells keys apart in a map.
func (id ID) mapKey() string {
	var key strings.Builder
	for _, part := range id {
		text := ""
		switch v := part.(type) {
		case int64:
			text = strconv.FormatInt(v, 10)
		case string:
			text = v
		case []byte:
			text = string(v)
		}
		key.WriteString(strconv.Itoa(len(text)))
		key.WriteByte(':')
		key.WriteString(text)
	}
	return key.String()
}

// idPart reads one column of a key from the text that a database answers.
func idPart(kind dialect.Kind, text []byte) any {
	switch kind {
	case dialect.Integer:
		if n, err := strconv.ParseInt(string(text), 10, 64); err == nil {
			return n
		}
		// An unsigned integer above the signed ones keeps its digits.
		return string(text)
	case dialect.Bytes:
		return append([]byte{}, text...)
	default:
		return string(text)
	}
}

// Delivery is a row that this process holds. Its exported fields do not change. What it holds the row
// by belongs to whoever calls the form's Extend and Settle, which is one goroutine.
type Delivery struct {
	ID ID
	// Attempt is the delivery's number as it stood before its claim, so the first reads 1; 0 where
	// the table counts none.
	Attempt int64
	// Group is the row's group, empty where the table has none or the row's is NULL.
	Group string
	// PartitionKey is the row's key, and HasPartitionKey whether it has one.
	PartitionKey    string
	HasPartitionKey bool
	// Headers is a JSON object, nil where the row has none.
	Headers []byte
	// Payload is nil for NULL; in row mode it is the row as a JSON object.
	Payload []byte
	// Flaw says why no handler can be given the row; empty where one can.
	Flaw string

	// token is the expiry as the database rendered it, count the attempt that the claim left.
	token string
	count int64
	// others are the expiries that extensions without an answer may have written since.
	others []string
	// expires is when the lease ends by this host's clock.
	expires time.Time
	// guest is what the delivery's guest has of a transaction, nil where the form carries none.
	guest *guest
	// hold is the transaction that holds the row in the row lock form.
	hold *hold
	// held is the lock on the row's key in the advisory lock form.
	held keyLock
}

// Expires is when the delivery's hold on its row ends unless it is extended, by this host's clock. It is
// zero where the hold lasts until it is settled.
func (d *Delivery) Expires() time.Time { return d.expires }
