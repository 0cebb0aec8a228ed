package host

import (
	"strings"
	"testing"

	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/host/config"
)

// A message may be a row. Its group is the one that the row names, where the table has groups.
func TestEnvelopeOfARow(t *testing.T) {
	things := &config.Table{Key: "things", Group: "queue"}
	m, err := ParseMessage([]byte(`{"row":{"id":9007199254740993,"queue":"own","note":null}}`), things, forms.Message{Group: "default"})
	if err != nil || m.Payload != nil || m.Group != "own" || len(m.Row) != 3 || string(m.Row["id"]) != "9007199254740993" {
		t.Errorf("%+v, %v", m, err)
	}
	if m, err = ParseMessage([]byte(`{"row":{"note":"x"},"group":"g"}`), things, forms.Message{}); err != nil || m.Group != "g" {
		t.Errorf("%+v, %v", m, err)
	}
	for line, want := range map[string]string{
		`{"row":{"note":"x"}}`:               `it names no "group"`,
		`{"row":{"queue":5}}`:                `column "queue" is the group, which is a string`,
		`{"row":[1]}`:                        "it is no message",
		`{"row":{"note":"x"},"payload":"x"}`: `either "payload" or "payload_base64" or "row"`,
	} {
		if _, err := ParseMessage([]byte(line), things, forms.Message{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", line, err, want)
		}
	}
}
