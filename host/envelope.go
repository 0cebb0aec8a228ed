package host

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/host/config"
)

// OnlyGroup is the group of a table's only handler, and how many there are.
func OnlyGroup(cfg *config.Config, t *config.Table) (group string, handlers int) {
	for _, h := range cfg.Handlers {
		if h.Table == t && h.Group != config.EveryGroup {
			group = h.Group
			handlers++
		}
	}
	if handlers != 1 {
		group = ""
	}
	return group, handlers
}

// envelope is a message as JSON.
type envelope struct {
	Payload       *string                    `json:"payload"`
	PayloadBase64 *[]byte                    `json:"payload_base64"`
	Row           map[string]json.RawMessage `json:"row"`
	Group         *string                    `json:"group"`
	Headers       json.RawMessage            `json:"headers"`
	DelayMS       *int64                     `json:"delay_ms"`
	Priority      *int64                     `json:"priority"`
	PartitionKey  *string                    `json:"partition_key"`
}

// ErrNoGroup is the error of a message for a table with groups that names none.
var ErrNoGroup = errors.New(`it names no "group", and the table is not read by one handler alone`)

// ParseMessage reads a message in the form that guests publish and `enqueue --envelope` takes, strictly. What it does
// not say is as in m.
func ParseMessage(line []byte, t *config.Table, m forms.Message) (forms.Message, error) {
	var e envelope
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&e); err != nil {
		return m, fmt.Errorf("it is no message: %w", err)
	}
	if decoder.More() {
		return m, errors.New("it holds more than one message; write each on a line of its own")
	}
	if string(e.Headers) == "null" {
		e.Headers = nil
	}
	if err := e.check(t); err != nil {
		return m, err
	}
	switch {
	case e.Row != nil:
		m.Row = e.Row
	case e.Payload != nil:
		m.Payload = []byte(*e.Payload)
	default:
		m.Payload = *e.PayloadBase64
	}
	if e.Group != nil {
		m.Group = *e.Group
	}
	if own := e.Row[t.Group]; t.Group != "" && own != nil {
		if err := json.Unmarshal(own, &m.Group); err != nil {
			return m, fmt.Errorf("column %q is the group, which is a string", t.Group)
		}
	}
	if e.Headers != nil {
		m.Headers = e.Headers
	}
	if e.DelayMS != nil {
		m.Delay = time.Duration(*e.DelayMS) * time.Millisecond
	}
	if e.Priority != nil {
		m.Priority = e.Priority
	}
	if e.PartitionKey != nil {
		m.PartitionKey = e.PartitionKey
	}
	if t.Group != "" && m.Group == "" {
		return m, ErrNoGroup
	}
	return m, nil
}

// maxDelayMS is the longest delay that a time.Duration holds, 292 years.
const maxDelayMS = math.MaxInt64 / int64(time.Millisecond)

// check refuses values that a row of the table cannot have.
func (e *envelope) check(t *config.Table) error {
	given := 0
	for _, is := range []bool{e.Payload != nil, e.PayloadBase64 != nil, e.Row != nil} {
		if is {
			given++
		}
	}
	if given != 1 {
		return errors.New(`a message has either "payload" or "payload_base64" or "row"`)
	}
	for _, value := range []struct {
		key   string
		given bool
		role  dialect.Role
	}{
		{"group", e.Group != nil, dialect.Group},
		{"headers", e.Headers != nil, dialect.Headers},
		{"delay_ms", e.DelayMS != nil, dialect.RetryAfter},
		{"priority", e.Priority != nil, dialect.Priority},
		{"partition_key", e.PartitionKey != nil, dialect.PartitionKey},
	} {
		if value.given && !t.Declared().Has(value.role) {
			return fmt.Errorf("%q needs a column that plays %s, and [tables.%s] names none", value.key, value.role, t.Key)
		}
	}
	if e.Headers != nil && e.Headers[0] != '{' {
		return errors.New(`"headers" is not a JSON object`)
	}
	if e.DelayMS != nil && (*e.DelayMS < 0 || *e.DelayMS > maxDelayMS) {
		return fmt.Errorf(`"delay_ms" is not between 0 and %d`, maxDelayMS)
	}
	return nil
}
