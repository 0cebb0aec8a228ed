// Command go is the conformance handler in Go: see ../conformance_test.go for what each command has to do.
package main

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	inbox "github.com/inbox-wasm/inbox-wasm/guest-sdk/go"
	"github.com/inbox-wasm/inbox-wasm/guest-sdk/go/batch"
)

var greeting string

func init() {
	inbox.Init(func() error {
		if greeting = inbox.Config("greeting"); greeting == "" {
			return errors.New("no greeting")
		}
		return nil
	})
	batch.Handle(func(messages []*inbox.Message) error {
		for _, m := range messages {
			if command, exists := m.LookupHeader("do"); exists {
				batch.Settle(m, handle(m, command))
			}
		}
		return inbox.Retry("")
	})
}

func main() {}

// tell says what was found out as the reason of a dead letter.
func tell(found string, exists bool) error {
	if !exists {
		found = "absent"
	}
	return inbox.DeadLetter(found)
}

func tellInt(n int64) error { return inbox.DeadLetter(strconv.FormatInt(n, 10)) }

func tellJSON(v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return inbox.DeadLetter(string(text))
}

// tellError tells an error of the host's as the vectors have it.
func tellError(code int, message, sqlState string, number int) error {
	said := map[string]any{"code": code, "message": message}
	if sqlState != "" {
		said["sqlstate"] = sqlState
	}
	if number != 0 {
		said["number"] = number
	}
	return tellJSON(said)
}

func handle(m *inbox.Message, command string) error {
	why := m.Header("why")
	ms, err := strconv.Atoi(m.Header("ms"))
	delayed := err == nil
	delay := time.Duration(ms) * time.Millisecond
	switch command {
	case "ack":
		return nil
	case "retry":
		return inbox.Retry(why)
	case "retry_after":
		if delayed {
			return inbox.RetryAfter(delay, why)
		}
		return errors.New(why)
	case "drop":
		return inbox.Drop(why)
	case "dead_letter":
		return inbox.DeadLetter(why)
	case "snooze":
		return inbox.Snooze(delay, why)
	case "panic":
		panic("on purpose")
	case "payload":
		return tell(string(m.Payload()), m.Payload() != nil)
	case "length":
		return tellInt(int64(len(m.Payload())))
	case "header":
		return tell(m.LookupHeader(m.Header("name")))
	case "meta":
		return meta(m)
	case "attempt":
		return tellInt(int64(m.Attempt()))
	case "time_left":
		return tellInt(m.TimeLeft().Milliseconds())
	case "now":
		return tellInt(inbox.Now().UnixMilli())
	case "config":
		return tell(inbox.LookupConfig(m.Header("name")))
	case "greeting":
		return tell(greeting, true)
	case "log":
		for level, line := range []string{"a trace", "a debug line", "an info", "a warning", "an error"} {
			if inbox.LogEnabled(inbox.Level(level)) {
				inbox.Log(inbox.Level(level), line)
			}
		}
		return nil
	case "random":
		var b [16]byte
		inbox.Random(b[:])
		return tell(base64.StdEncoding.EncodeToString(b[:]), true)
	case "db":
		return db(m)
	case "publish":
		return publish(m)
	case "http":
		return send(m)
	}
	return inbox.Drop("")
}

func meta(m *inbox.Message) error {
	meta := m.Meta()
	return tellJSON(map[string]any{"subscription": meta.Subscription, "table": meta.Table, "group": meta.Group, "id": json.RawMessage(meta.ID),
		"attempt": meta.Attempt, "max_attempts": meta.MaxAttempts, "partition_key": meta.PartitionKey, "headers": meta.Headers})
}

func db(m *inbox.Message) error {
	conn := inbox.Tx
	if _, pool := m.LookupHeader("pool"); pool {
		conn = inbox.Pool
	}
	rows, err := conn.Query(m.Header("sql"), int64(1)<<62+1, "ü\n", []byte{0, 255}, true, nil)
	var refused *inbox.SQLError
	if errors.As(err, &refused) {
		return tellError(refused.Code, refused.Message, refused.SQLState, refused.Number)
	}
	if err != nil {
		return err
	}
	if _, length := m.LookupHeader("length"); length {
		return tellInt(int64(len(rows.Columns[0])))
	}
	return tellJSON(map[string]any{"columns": rows.Columns, "rows": rows.Rows, "affected": rows.Affected})
}

func publish(m *inbox.Message) error {
	p := &inbox.Publication{Payload: m.Payload(), Group: m.Header("group")}
	if p.Group != "" {
		priority, key := int64(-7), "ada"
		p.Priority, p.PartitionKey, p.Delay = &priority, &key, 1500*time.Millisecond
		p.Headers = map[string]string{"trace": "42", "quoted": "a \"b\"\n\\"}
	}
	if m.Header("row") != "" {
		p.Row = map[string]any{"n": int64(1)<<62 + 1, "blob": m.Payload()}
	}
	err := inbox.Publish(m.Header("table"), p)
	var refused *inbox.PublishError
	if errors.As(err, &refused) {
		return tellError(refused.Code, refused.Message, "", 0)
	}
	return err
}

func send(m *inbox.Message) error {
	response, err := inbox.Send(&inbox.Request{Method: "POST", URL: m.Header("url"), Headers: map[string]string{"idempotency-key": "7"}, Body: m.Payload(),
		Timeout: 250 * time.Millisecond})
	var refused *inbox.HTTPError
	if errors.As(err, &refused) {
		return tellError(refused.Code, refused.Message, "", 0)
	}
	if err != nil {
		return err
	}
	return tellJSON(map[string]any{"status": response.Status, "type": response.Headers["content-type"], "body": response.Body})
}
