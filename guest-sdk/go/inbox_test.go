package inbox_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	inbox "github.com/inbox-wasm/inbox-wasm/guest-sdk/go"
	"github.com/inbox-wasm/inbox-wasm/guest-sdk/go/inboxtest"
	"github.com/inbox-wasm/inbox-wasm/guest-sdk/go/internal/host"
)

func deliver(t *testing.T, m inboxtest.Message, handle func(*inbox.Message) error) inboxtest.Result {
	t.Helper()
	return inboxtest.New(t, nil).Deliver(handle, m)
}

func TestOutcomes(t *testing.T) {
	longest := time.Duration(math.MaxInt64).Truncate(time.Millisecond)
	for _, test := range []struct {
		name string
		err  error
		want inboxtest.Result
	}{
		{"ack", nil, inboxtest.Result{Outcome: inboxtest.Ack}},
		{"retry", inbox.Retry("busy"), inboxtest.Result{Outcome: inboxtest.Retry, Reason: "busy"}},
		{"drop", inbox.Drop("old"), inboxtest.Result{Outcome: inboxtest.Drop, Reason: "old"}},
		{"dead letter", inbox.DeadLetter("bad"), inboxtest.Result{Outcome: inboxtest.DeadLetter, Reason: "bad"}},
		{"without a reason", inbox.Drop(""), inboxtest.Result{Outcome: inboxtest.Drop}},
		{"retry after", inbox.RetryAfter(time.Minute, "later"),
			inboxtest.Result{Outcome: inboxtest.RetryAfter, Reason: "later", Delay: time.Minute, HasDelay: true}},
		{"snooze", inbox.Snooze(time.Minute, "early"),
			inboxtest.Result{Outcome: inboxtest.Snooze, Reason: "early", Delay: time.Minute, HasDelay: true}},
		{"delay of nothing", inbox.RetryAfter(0, "now"),
			inboxtest.Result{Outcome: inboxtest.RetryAfter, Reason: "now", HasDelay: true}},
		{"delay in the past", inbox.RetryAfter(-time.Hour, "now"),
			inboxtest.Result{Outcome: inboxtest.RetryAfter, Reason: "now", HasDelay: true}},
		{"delay rounded up", inbox.RetryAfter(time.Millisecond+1, "later"),
			inboxtest.Result{Outcome: inboxtest.RetryAfter, Reason: "later", Delay: 2 * time.Millisecond, HasDelay: true}},
		{"longest delay", inbox.RetryAfter(longest, "never"),
			inboxtest.Result{Outcome: inboxtest.RetryAfter, Reason: "never", Delay: longest, HasDelay: true}},
		{"any other error", io.ErrUnexpectedEOF, inboxtest.Result{Outcome: inboxtest.RetryAfter, Reason: "unexpected EOF"}},
		{"wrapped", fmt.Errorf("parse: %w", inbox.DeadLetter("no id")),
			inboxtest.Result{Outcome: inboxtest.DeadLetter, Reason: "parse: no id"}},
		{"joined", errors.Join(io.EOF, inbox.Drop("old")), inboxtest.Result{Outcome: inboxtest.Drop, Reason: "EOF\nold"}},
		{"not UTF-8", errors.New("a\xffb"), inboxtest.Result{Outcome: inboxtest.RetryAfter, Reason: "a\uFFFDb"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := deliver(t, inboxtest.Message{}, func(*inbox.Message) error { return test.err })
			if got.Outcome != test.want.Outcome || got.Reason != test.want.Reason || got.Delay != test.want.Delay || got.HasDelay != test.want.HasDelay {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

// listener hears the reason, which a panic keeps from the result.
type listener struct {
	host.Functions
	reason string
}

func (l *listener) Reason(text string) int32 {
	l.reason = text
	return l.Functions.Reason(text)
}

func TestPanicIsAReasonAndGoesOn(t *testing.T) {
	fake := inboxtest.New(t, nil)
	heard := &listener{Functions: host.Fake}
	host.Fake = heard
	defer func() {
		if value := recover(); value != "broken" {
			t.Errorf("the panic's value is %v", value)
		}
		if heard.reason != "panic: broken" {
			t.Errorf("the reason is %q", heard.reason)
		}
	}()
	fake.Deliver(func(*inbox.Message) error { panic("broken") }, inboxtest.Message{})
}

func TestPayloadBufferServesOneMessageAfterTheOther(t *testing.T) {
	fake := inboxtest.New(t, nil)
	sizes := []int{0, 1, 100, 1 << 20, 3, 1<<20 + 1, 0}
	var buffer *byte
	for _, size := range sizes {
		want := bytes.Repeat([]byte{byte(size)}, size)
		fake.Deliver(func(m *inbox.Message) error {
			got := m.Payload()
			if got == nil || !bytes.Equal(got, want) {
				t.Errorf("a payload of %d bytes reads as %d bytes, nil %v", size, len(got), got == nil)
			}
			if again := m.Payload(); !bytes.Equal(again, want) {
				t.Errorf("a payload of %d bytes reads otherwise the second time", size)
			}
			switch size {
			case 1 << 20:
				buffer = &got[0]
			case 3:
				if &got[0] != buffer {
					t.Error("the buffer is not used again")
				}
			}
			return nil
		}, inboxtest.Message{Payload: want})
	}
	fake.Deliver(func(m *inbox.Message) error {
		if got := m.Payload(); got != nil {
			t.Errorf("a payload of NULL reads as %q", got)
		}
		return nil
	}, inboxtest.Message{})
}

func TestMessage(t *testing.T) {
	key := "customer 7"
	message := inboxtest.Message{
		Headers:      map[string]string{"A": "1", "Empty": "", "Long": strings.Repeat("x", 5000)},
		Subscription: "s", Table: "t", Group: "g", ID: "9007199254740993",
		Attempt: 2, MaxAttempts: 5, PartitionKey: &key, TimeLeft: 1500 * time.Millisecond,
	}
	result := deliver(t, message, func(m *inbox.Message) error {
		for name, want := range message.Headers {
			if got, exists := m.LookupHeader(name); got != want || !exists {
				t.Errorf("header %s is %q, %v", name, got, exists)
			}
		}
		if got, exists := m.LookupHeader("B"); got != "" || exists || m.Header("B") != "" || m.Header("A") != "1" {
			t.Errorf("an absent header is %q, %v", got, exists)
		}
		if m.Attempt() != 2 || m.TimeLeft() != message.TimeLeft {
			t.Errorf("attempt %d, time left %s", m.Attempt(), m.TimeLeft())
		}
		meta := m.Meta()
		if meta.Subscription != "s" || meta.Table != "t" || meta.Group != "g" || meta.ID != message.ID || meta.Attempt != 2 ||
			meta.MaxAttempts != 5 || *meta.PartitionKey != key || len(meta.Headers) != 3 || meta.Headers["A"] != "1" {
			t.Errorf("meta is %+v", meta)
		}
		return nil
	})
	if result.Outcome != inboxtest.Ack {
		t.Errorf("%+v", result)
	}
}

func TestMessageWithoutDeadlineAndKey(t *testing.T) {
	deliver(t, inboxtest.Message{}, func(m *inbox.Message) error {
		if m.TimeLeft() != math.MaxInt64 {
			t.Errorf("the time left is %s", m.TimeLeft())
		}
		if meta := m.Meta(); meta.PartitionKey != nil {
			t.Errorf("the partition key is %q", *meta.PartitionKey)
		}
		return nil
	})
}

func TestInit(t *testing.T) {
	fake := inboxtest.New(t, map[string]string{"sender": "a@example.com", "empty": ""})
	refusal := fake.Init(func() error {
		if got, exists := inbox.LookupConfig("empty"); got != "" || !exists {
			t.Errorf("an empty setting is %q, %v", got, exists)
		}
		if _, exists := inbox.LookupConfig("none"); exists {
			t.Error("a setting that nobody made exists")
		}
		if got := inbox.Config("sender"); got != "a@example.com" {
			t.Errorf("sender is %q", got)
		}
		return nil
	})
	if refusal != "" {
		t.Errorf("refused with %q", refusal)
	}
	if got := fake.Init(func() error { return errors.New("no sender") }); got != "no sender" {
		t.Errorf("refused with %q", got)
	}
}

func TestClockAndRandom(t *testing.T) {
	fake := inboxtest.New(t, nil)
	now := time.UnixMilli(1_700_000_000_123)
	fake.Now = func() time.Time { return now }
	if got := inbox.Now(); !got.Equal(now) {
		t.Errorf("now is %s", got)
	}
	var a, b [16]byte
	inbox.Random(a[:])
	inbox.Random(b[:])
	if a == b {
		t.Error("random bytes repeat")
	}
}

func TestLog(t *testing.T) {
	fake := inboxtest.New(t, nil)
	fake.LogLevel = inbox.LevelDebug
	result := fake.Deliver(func(*inbox.Message) error {
		inbox.Log(inbox.LevelInfo, "plain \xff")
		inbox.Log(inbox.LevelTrace, "not wanted")
		if inbox.LogEnabled(inbox.LevelTrace) || !inbox.LogEnabled(inbox.LevelDebug) {
			t.Error("the levels are not the host's")
		}
		log := inbox.Logger()
		log.Log(t.Context(), slog.LevelDebug-1, "not wanted")
		log.Debug("read", "level", 7)
		log.With("a", 1).WithGroup("g").Info("two words", "b", "c d")
		log.Warn("low")
		log.Error("broken", "error", io.EOF)
		return nil
	}, inboxtest.Message{})
	want := []inboxtest.Line{
		{Level: inbox.LevelInfo, Text: "plain \uFFFD"},
		{Level: inbox.LevelDebug, Text: "msg=read level=7"},
		{Level: inbox.LevelInfo, Text: `msg="two words" a=1 g.b="c d"`},
		{Level: inbox.LevelWarn, Text: "msg=low"},
		{Level: inbox.LevelError, Text: "msg=broken error=EOF"},
	}
	if !slices.Equal(result.Log, want) {
		t.Errorf("got %q, want %q", result.Log, want)
	}
}
