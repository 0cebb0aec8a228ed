package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/inbox-wasm/inbox-wasm/forms"
)

// envelope is a message as a line of JSON.
type envelope struct {
	Payload       *string         `json:"payload"`
	PayloadBase64 *[]byte         `json:"payload_base64"`
	Group         *string         `json:"group"`
	Headers       json.RawMessage `json:"headers"`
	DelayMS       *int64          `json:"delay_ms"`
	Priority      *int64          `json:"priority"`
	PartitionKey  *string         `json:"partition_key"`
}

// lineMessage reads the message of one line: the line itself as its payload, or an envelope.
func lineMessage(line []byte, enveloped bool, defaults forms.Message) (forms.Message, error) {
	m := defaults
	if !enveloped {
		if !json.Valid(line) {
			return m, errors.New("it is not valid JSON; use --file for other payloads")
		}
		m.Payload = bytes.Clone(line)
		return m, nil
	}
	var e envelope
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&e); err != nil {
		return m, fmt.Errorf("it is no message: %w", err)
	}
	switch {
	case e.Payload != nil && e.PayloadBase64 != nil, e.Payload == nil && e.PayloadBase64 == nil:
		return m, errors.New(`a message has either "payload" or "payload_base64"`)
	case e.Payload != nil:
		m.Payload = []byte(*e.Payload)
	default:
		m.Payload = *e.PayloadBase64
	}
	if e.Group != nil {
		m.Group = *e.Group
	}
	if e.Headers != nil {
		var object map[string]json.RawMessage
		if err := json.Unmarshal(e.Headers, &object); err != nil {
			return m, errors.New(`"headers" is not a JSON object`)
		}
		m.Headers = e.Headers
	}
	if e.DelayMS != nil {
		if *e.DelayMS < 0 {
			return m, errors.New(`"delay_ms" is negative`)
		}
		m.Delay = time.Duration(*e.DelayMS) * time.Millisecond
	}
	if e.Priority != nil {
		m.Priority = e.Priority
	}
	if e.PartitionKey != nil {
		m.PartitionKey = e.PartitionKey
	}
	return m, nil
}
