package inbox_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/inbox-wasm/inbox-wasm/abi"
	inbox "github.com/inbox-wasm/inbox-wasm/guest-sdk/go"
	"github.com/inbox-wasm/inbox-wasm/guest-sdk/go/inboxtest"
	"github.com/inbox-wasm/inbox-wasm/host/engine"
	"github.com/inbox-wasm/inbox-wasm/internal/testwasm"
)

func TestPublishOnTheRealHost(t *testing.T) {
	runtime, err := engine.New(t.Context(), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = runtime.Close(context.Background()) })
	module, err := runtime.Load(t.Context(), testwasm.Go(t, "testdata/publishes"), engine.Limits{Allowed: []string{"publish"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = module.Close(context.Background()) })
	var got []string
	publications := func(_ context.Context, table string, message []byte) ([]byte, abi.Errno) {
		if table == "away" {
			return []byte(`{"message":"the database is away"}`), abi.Failed
		}
		got = append(got, table+" "+string(message))
		return nil, 0
	}
	instance, err := module.NewInstance(t.Context(), engine.Settings{MayPublish: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer instance.Close(context.Background())
	for table, want := range map[string]string{"mails": "<nil>", "away": "publish: the database is away"} {
		r := instance.Handle(t.Context(), &engine.Message{ID: []byte("7"), Payload: []byte("hi"), Headers: []byte(`{"publish":"` + table + `"}`), Publish: publications})
		if r.Reason != want {
			t.Errorf("%s: %+v", table, r)
		}
	}
	if want := `mails {"payload":"hi","headers":{"a":"b"},"delay_ms":60000,"priority":3}`; len(got) != 1 || got[0] != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestPublishOnTheFakeHost(t *testing.T) {
	host := inboxtest.New(t, nil)
	handle := func(m *inbox.Message) error { return inbox.Publish("mails", &inbox.Publication{Payload: m.Payload()}) }
	if r := host.Deliver(handle, inboxtest.Message{}); r.Outcome != inboxtest.RetryAfter || !strings.Contains(r.Reason, "may not write") {
		t.Errorf("without a table: %+v", r)
	}
	var got string
	host.Publish = func(table, message string) error { got = table + " " + message; return nil }
	if r := host.Deliver(handle, inboxtest.Message{Payload: []byte{0xff}}); r.Outcome != inboxtest.Ack || got != `mails {"payload_base64":"/w=="}` {
		t.Errorf("%+v, %s", r, got)
	}
	host.Publish = func(string, string) error { return errors.New("away") }
	if r := host.Deliver(handle, inboxtest.Message{}); r.Reason != "publish: away" {
		t.Errorf("%+v", r)
	}
}
