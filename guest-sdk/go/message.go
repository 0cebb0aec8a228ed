package inbox

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/inbox-wasm/inbox-wasm/guest-sdk/go/internal/host"
)

// Message is one delivery of a row. It is valid until the handler returns.
type Message struct {
	payload []byte
	loaded  bool
	buffer  []byte // the memory of payload, kept from one message to the next

	batch *host.Current // nil outside of a batch
	index int32         // in its batch
}

// current is the one message that the host has given to this instance.
var current = Message{buffer: make([]byte, 0, 4096)}

func (m *Message) reset() { *m = Message{buffer: m.buffer} }

// Renew makes m message i of a batch, and Current the one that the host works on. They are for package
// batch alone: no other has their parameter.
func (m *Message) Renew(batch *host.Current, i int32) {
	*m = Message{buffer: m.buffer, batch: batch, index: i}
}

// Current is described with [Message.Renew].
func (m *Message) Current(batch *host.Current) { batch.Use(m.index) }

// use makes the message the one that the host's functions are about.
func (m *Message) use() {
	if m.batch != nil {
		m.batch.Use(m.index)
	}
}

// Payload returns the payload's bytes, or in row mode the row as a JSON object; nil
// where the column is NULL. The bytes are the handler's to read and change until it
// returns; the next message overwrites them, so what is to last has to be copied.
func (m *Message) Payload() []byte {
	if !m.loaded {
		m.use()
		payload, exists := read("payload", m.buffer, host.Payload)
		if m.buffer = payload; exists {
			m.payload = payload
		}
		m.loaded = true
	}
	return m.payload
}

// LookupHeader reads one header. A value that is not a string reads as its JSON text.
func (m *Message) LookupHeader(name string) (value string, exists bool) {
	m.use()
	buf, exists := read("header", make([]byte, 0, 128), func(buf []byte) int32 { return host.Header(name, buf) })
	return string(buf), exists
}

// Header reads a header like [Message.LookupHeader]; one that does not exist is empty.
func (m *Message) Header(name string) string {
	value, _ := m.LookupHeader(name)
	return value
}

// Attempt is the number of this delivery, 1 for the first; 0 where the table counts none.
func (m *Message) Attempt() int {
	m.use()
	return int(host.Attempt())
}

// TimeLeft is how long the handler may go on before the host interrupts it.
func (m *Message) TimeLeft() time.Duration { return duration(host.DeadlineMs()) }

// Meta is what surrounds a message's payload.
type Meta struct {
	Subscription string            // the handler's name in inbox.toml
	Table        string            // the table that the row lies in
	Group        string            // its group, empty where the table has none
	ID           string            // its id: a string as it is, any other value as JSON text
	Attempt      int               // as [Message.Attempt]
	MaxAttempts  int               // 0 where there is no cap
	PartitionKey *string           // nil where the row has none
	Headers      map[string]string // strings as they are, any other value as JSON text
}

// Meta decodes the description of the delivery. That costs more than [Message.Header],
// [Message.Attempt] and [Message.TimeLeft], which ask for one value each.
func (m *Message) Meta() Meta {
	m.use()
	text, _ := read("meta", make([]byte, 0, 1024), host.Meta)
	var wire struct {
		Subscription string                     `json:"subscription"`
		Table        string                     `json:"table"`
		Group        string                     `json:"group"`
		ID           json.RawMessage            `json:"id"`
		Attempt      int                        `json:"attempt"`
		MaxAttempts  int                        `json:"max_attempts"`
		PartitionKey *string                    `json:"partition_key"`
		Headers      map[string]json.RawMessage `json:"headers"`
	}
	if err := json.Unmarshal(text, &wire); err != nil {
		panic(fmt.Sprintf("inbox: the host's meta is not what the contract says: %v", err))
	}
	meta := Meta{
		Subscription: wire.Subscription,
		Table:        wire.Table,
		Group:        wire.Group,
		ID:           plain(wire.ID),
		Attempt:      wire.Attempt,
		MaxAttempts:  wire.MaxAttempts,
		PartitionKey: wire.PartitionKey,
		Headers:      make(map[string]string, len(wire.Headers)),
	}
	for name, value := range wire.Headers {
		meta.Headers[name] = plain(value)
	}
	return meta
}

// plain is a JSON string's content, or the text of any other JSON value.
func plain(value json.RawMessage) string {
	var text string
	if len(value) > 0 && value[0] == '"' && json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(value)
}
