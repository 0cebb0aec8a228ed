package batch_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	inbox "github.com/inbox-wasm/inbox-wasm/guest-sdk/go"
	"github.com/inbox-wasm/inbox-wasm/guest-sdk/go/batch"
	"github.com/inbox-wasm/inbox-wasm/guest-sdk/go/inboxtest"
	"github.com/inbox-wasm/inbox-wasm/host/engine"
	"github.com/inbox-wasm/inbox-wasm/internal/testwasm"
)

func TestEachMessageHasItsOwn(t *testing.T) {
	results := inboxtest.New(t, nil).DeliverBatch(func(messages []*inbox.Message) error {
		// In any order, and again: the SDK goes to the message that it is asked about.
		for _, m := range slices.Backward(messages) {
			if got, want := string(m.Payload()), m.Header("name"); got != want {
				t.Errorf("message %s has the payload %q", want, got)
			}
		}
		if messages[1].Attempt() != 2 || messages[0].Attempt() != 1 || messages[2].Meta().ID != "id c" {
			t.Error("attempts or meta are mixed up")
		}
		batch.Settle(messages[2], inbox.Retry("early"))
		batch.Settle(messages[0], nil)
		batch.Settle(messages[2], inbox.RetryAfter(time.Minute, "late"))
		return inbox.Drop("the rest")
	}, message("a", 1), message("b", 2), message("c", 3), message("d", 4))
	want := []inboxtest.Result{
		{Outcome: inboxtest.Ack}, {Outcome: inboxtest.Drop, Reason: "the rest"},
		{Outcome: inboxtest.RetryAfter, Reason: "late", Delay: time.Minute, HasDelay: true},
		{Outcome: inboxtest.Drop, Reason: "the rest"},
	}
	if fmt.Sprint(results) != fmt.Sprint(want) {
		t.Errorf("got  %+v\nwant %+v", results, want)
	}
}

func message(name string, attempt int) inboxtest.Message {
	return inboxtest.Message{Payload: []byte(name), Headers: map[string]string{"name": name}, ID: "id " + name, Attempt: attempt}
}

// A batch shrinks and grows, and messages keep nothing of the ones before.
func TestMessagesAreRenewed(t *testing.T) {
	host := inboxtest.New(t, nil)
	for _, names := range []string{"abc", "d", "efgh"} {
		var messages []inboxtest.Message
		for _, name := range strings.Split(names, "") {
			messages = append(messages, message(name, 1))
		}
		host.DeliverBatch(func(got []*inbox.Message) error {
			read := ""
			for _, m := range got {
				read += string(m.Payload())
			}
			if read != names {
				t.Errorf("read %q, want %q", read, names)
			}
			return nil
		}, messages...)
	}
}

// With batch = 1 the host calls inbox_handle, and the handler sees a batch of one.
func TestSingleMessage(t *testing.T) {
	host := inboxtest.New(t, nil)
	for want, handle := range map[inboxtest.Outcome]func([]*inbox.Message) error{
		inboxtest.Ack:        func(m []*inbox.Message) error { batch.Settle(m[0], nil); return errors.New("the rest") },
		inboxtest.DeadLetter: func(m []*inbox.Message) error { batch.Settle(m[0], inbox.DeadLetter("bad")); return nil },
		inboxtest.Drop:       func(m []*inbox.Message) error { return inbox.Drop(string(m[0].Payload())) },
	} {
		batch.Handle(handle)
		if got := host.DeliverHandled(message("a", 1)); got.Outcome != want {
			t.Errorf("%+v, want %s", got, want)
		}
	}
}

func TestOnTheRealHost(t *testing.T) {
	runtime, err := engine.New(t.Context(), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	path := testwasm.Go(t, "../testdata/batch")
	module, err := runtime.Load(t.Context(), path, engine.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(module.Close(context.Background()), runtime.Close(context.Background())); err != nil {
			t.Error(err)
		}
	})
	for _, name := range []string{"inbox_v1.message", "inbox_v1.outcome"} {
		if !slices.Contains(module.Info().Imports, name) {
			t.Errorf("it does not import %s", name)
		}
	}
	call := func(payloads ...string) string {
		t.Helper()
		instance, err := module.NewInstance(t.Context(), engine.Settings{})
		if err != nil {
			t.Fatal(err)
		}
		defer instance.Close(t.Context())
		messages := make([]*engine.Message, len(payloads))
		for i, p := range payloads {
			messages[i] = &engine.Message{Payload: []byte(p), Attempt: int64(i), Headers: fmt.Appendf(nil, `{"name":"n%d"}`, i)}
		}
		var told []string
		for _, r := range instance.HandleBatch(t.Context(), messages, nil) {
			told = append(told, strings.TrimSpace(fmt.Sprint(r.Code, " ", r.Failure, " ", r.Delay, " ", strings.Split(r.Reason, ";")[0])))
		}
		return strings.Join(told, "\n")
	}
	for _, test := range []struct {
		payloads []string
		want     string
	}{
		{[]string{"ack", "later soon", "bury", "none"}, "ack none 0s\nretry_after none 1s soon\ndead_letter none 0s n2\nack none 0s"},
		{[]string{"none", "rest no database", "ack"}, "retry_after none 0s no database\nretry_after none 0s no database\nack none 0s"},
		{[]string{"ack", "panic broken", "ack"}, "ack none 0s\ncode -1 trap 0s unreachable\ncode -1 trap 0s unreachable"},
	} {
		if got := call(test.payloads...); got != test.want {
			t.Errorf("%q:\n%s\nwant\n%s", test.payloads, got, test.want)
		}
	}
}

// What does not import this package has no entry point for batches, and the host can refuse it.
func TestOtherHandlersExportNoBatches(t *testing.T) {
	for handler, want := range map[string]bool{"minimal": false, "batch": true} {
		code, err := os.ReadFile(testwasm.Go(t, "../testdata/"+handler))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(string(code), "inbox_handle_batch"); got != want {
			t.Errorf("%s exports inbox_handle_batch: %v", handler, got)
		}
	}
}
