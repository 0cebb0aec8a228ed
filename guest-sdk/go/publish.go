package inbox

import (
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/inbox-wasm/inbox-wasm/guest-sdk/go/internal/host"
)

// Publication is a row for another table, for a handler with allow = { publish = ["TABLE"] }.
type Publication struct {
	Payload      []byte
	Row          map[string]any // in place of a payload, for a table of rows
	Group        string         // "" is that of the table's only handler
	Headers      map[string]string
	Delay        time.Duration // hides the row
	Priority     *int64
	PartitionKey *string
}

// PublishError is why a row was not written.
type PublishError struct {
	Message string `json:"message"`
	Code    int    `json:"-"` // what the host's function returned
}

func (e *PublishError) Error() string { return "publish: " + e.Message }

// Publish writes a row into a table of inbox.toml and wakes its handlers. In a transactional handler the row is
// committed by the ack, and is not there after any other end. In another one it is there whatever becomes of the
// message that is being handled: one that is delivered again publishes again.
func Publish(table string, p *Publication) error {
	in := struct {
		Payload       *string           `json:"payload,omitempty"`
		PayloadBase64 *[]byte           `json:"payload_base64,omitempty"`
		Row           map[string]any    `json:"row,omitempty"`
		Group         string            `json:"group,omitempty"`
		Headers       map[string]string `json:"headers,omitempty"`
		DelayMS       int64             `json:"delay_ms,omitempty"`
		Priority      *int64            `json:"priority,omitempty"`
		PartitionKey  *string           `json:"partition_key,omitempty"`
	}{Row: p.Row, Group: p.Group, Headers: p.Headers, DelayMS: p.Delay.Milliseconds(), Priority: p.Priority, PartitionKey: p.PartitionKey}
	switch {
	case p.Row != nil:
		in.Row = make(map[string]any, len(p.Row))
		for column, value := range p.Row {
			in.Row[column] = argument(value)
		}
	case utf8.Valid(p.Payload):
		text := string(p.Payload)
		in.Payload = &text
	default:
		in.PayloadBase64 = &p.Payload
	}
	text, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("inbox: encode the message: %w", err)
	}
	code := host.Publish(table, string(text))
	switch code {
	case 0:
		return nil
	case failed:
		e := &PublishError{Code: int(code)}
		answer, _ := read("result", make([]byte, 0, 256), host.Result)
		if err := json.Unmarshal(answer, e); err != nil {
			e.Message = string(answer)
		}
		return e
	}
	return &PublishError{Message: publishRefusal(code), Code: int(code)}
}

func publishRefusal(code int32) string {
	switch code {
	case badArgument:
		return "this is no message of the table"
	case notAllowed:
		return `the handler may not write into the table: see allow.publish in inbox.toml`
	case deadlinePassed:
		return "the deadline passed"
	case tooLarge:
		return "the message has published as many rows as limits.publishes allows"
	}
	return hostError("publish", code)
}
