package engine

import (
	"context"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/inbox-wasm/inbox-wasm/abi"
)

func TestGiveWritesAllOrNothing(t *testing.T) {
	p := newProbe(t, Settings{})
	p.message.Payload = []byte("0123456789")
	p.put(512, "................")
	for _, c := range []struct {
		ptr, room uint64
		want      int64
		after     string
	}{
		{512, 0, 10, "................"},
		{512, 9, 10, "................"},
		{0xffffffff, 0, 10, "................"}, // the length alone needs no pointer
		{probeEnd - 9, 9, 10, "................"},
		{512, 10, 10, "0123456789......"},
		{512, 16, 10, "0123456789......"},
		{probeEnd - 10, 10, 10, "0123456789......"},
		{probeEnd - 10, 11, int64(abi.BadArgument), "0123456789......"},
	} {
		if got := p.call("payload", c.ptr, c.room); got != c.want {
			t.Errorf("payload(%d, %d) = %d, want %d", c.ptr, c.room, got, c.want)
		}
		if after := p.get(512, 16); after != c.after {
			t.Errorf("payload(%d, %d) left %q", c.ptr, c.room, after)
		}
	}
	if got := p.get(probeEnd-10, 10); got != "0123456789" {
		t.Errorf("at the end of memory: %q", got)
	}
	p.message.Payload = []byte{}
	if got := p.call("payload", 512, 16); got != 0 {
		t.Errorf("an empty payload = %d", got)
	}
	p.message.Payload = nil
	if got := p.call("payload", 512, 16); got != int64(abi.Absent) {
		t.Errorf("a payload of NULL = %d", got)
	}
}

func TestHeader(t *testing.T) {
	p := newProbe(t, Settings{})
	p.message.Headers = []byte(`{"a":"text \u00e9 <&>","b":12345678901234567890,"c":{"d": [1]},"e":null,"":"empty","f":"","g":"last","g":"wins"}`)
	for name, want := range map[string]string{"a": "text é <&>", "b": "12345678901234567890", "c": `{"d": [1]}`, "e": "null", "": "empty", "f": "", "g": "wins"} {
		ptr, n := p.put(512, name)
		if got := p.value("header", ptr, n); got != want {
			t.Errorf("header %q = %q, want %q", name, got, want)
		}
	}
	for name, want := range map[string]abi.Errno{"A": abi.Absent, "absent": abi.Absent, "\xff": abi.BadArgument, "a\x00": abi.Absent} {
		ptr, n := p.put(512, name)
		if got := p.call("header", ptr, n, 8192, 64); got != int64(want) {
			t.Errorf("header %q = %d, want %s", name, got, want)
		}
	}
	ptr, n := p.put(512, "a")
	for headers, want := range map[string]abi.Errno{"": abi.Absent, "{}": abi.Absent, "null": abi.Absent, "[1]": abi.Failed, `{"a":`: abi.Failed} {
		p.message.Headers = []byte(headers)
		if got := p.call("header", ptr, n, 8192, 64); got != int64(want) {
			t.Errorf("with headers %q = %d, want %s", headers, got, want)
		}
	}
}

func TestMeta(t *testing.T) {
	p := newProbe(t, Settings{})
	p.message = &Message{Subscription: `s<"1">`, Table: "t", Group: "g", ID: []byte(`{"a":1,"b":"x"}`), Attempt: 3, MaxAttempts: 5,
		PartitionKey: "", HasPartitionKey: true, Headers: []byte(`{"h":1}`), Timeout: time.Hour}
	got := p.value("meta")
	before, after, found := strings.Cut(got, `"deadline_ms":3`)
	if !found || before != `{"subscription":"s<\"1\">","table":"t","group":"g","id":{"a":1,"b":"x"},"attempt":3,"max_attempts":5,"partition_key":"","headers":{"h":1},` ||
		len(after) != len("599999}") {
		t.Error(got)
	}
	if !json.Valid([]byte(got)) {
		t.Error("not JSON")
	}
	p.message = &Message{}
	const empty = `{"subscription":"","table":"","group":"","id":null,"attempt":0,"max_attempts":0,"partition_key":null,"headers":{},"deadline_ms":null}`
	if got := p.value("meta"); got != empty {
		t.Error(got)
	}
	p.message = &Message{ID: []byte("not json"), Subscription: "\xff\x00"}
	if got := p.value("meta"); !json.Valid([]byte(got)) || !strings.Contains(got, `"id":"not json"`) {
		t.Error(got)
	}
}

func TestAttemptSaturates(t *testing.T) {
	p := newProbe(t, Settings{})
	for attempt, want := range map[int64]int64{0: 0, 1: 1, 32768: 32768, math.MaxInt32: math.MaxInt32, math.MaxInt32 + 1: math.MaxInt32,
		math.MaxInt64: math.MaxInt32, -1: 0} {
		p.message.Attempt = attempt
		if got := p.call("attempt"); got != want {
			t.Errorf("attempt %d = %d", attempt, got)
		}
	}
}

func TestDeadlineMS(t *testing.T) {
	p := newProbe(t, Settings{})
	if got := p.call("deadline_ms"); got != math.MaxInt64 {
		t.Errorf("without a deadline: %d", got)
	}
	p.message.Timeout = time.Minute
	if got := p.call("deadline_ms"); got < 50_000 || got >= 60_000 {
		t.Errorf("of a minute: %d", got)
	}
}

func TestRetryAfter(t *testing.T) {
	p := newProbe(t, Settings{})
	for ms, want := range map[int64]int64{0: 0, 1500: 0, math.MaxInt64: 0, -1: int64(abi.BadArgument), math.MinInt64: int64(abi.BadArgument)} {
		if got := p.call("retry_after", uint64(ms)); got != want {
			t.Errorf("retry_after(%d) = %d", ms, got)
		}
		if c := p.instance.call; c.said.hasDelay != (want == 0) || c.said.delay < 0 {
			t.Errorf("retry_after(%d) left %v, %s", ms, c.said.hasDelay, c.said.delay)
		}
	}
}

func TestReason(t *testing.T) {
	p := newProbe(t, Settings{})
	for text, want := range map[string]string{
		"plain":                        "plain",
		"":                             "",
		"a\x00b\xff\xfec":              "a\uFFFDb\uFFFDc",
		strings.Repeat("é", 4000):      strings.Repeat("é", MaxReason/2),
		"x" + strings.Repeat("é", 4e3): "x" + strings.Repeat("é", MaxReason/2-1),
	} {
		ptr, n := p.put(1<<16, text)
		v, r := p.handle("reason", ptr, n)
		if v != 0 || r.Reason != want {
			t.Errorf("reason of %d bytes = %d, %q", len(text), v, r.Reason)
		}
	}
	ptr, n := p.put(1<<16, strings.Repeat("\x00", MaxReason))
	if _, r := p.handle("reason", ptr, n); len(r.Reason) > MaxReason || !strings.HasPrefix(r.Reason, "\uFFFD\uFFFD") {
		t.Errorf("a reason of NULs has %d bytes", len(r.Reason))
	}
}

func TestConfig(t *testing.T) {
	p := newProbe(t, Settings{Config: map[string]string{"key": "välue", "empty": ""}})
	for key, want := range map[string]string{"key": "välue", "empty": ""} {
		ptr, n := p.put(512, key)
		if got := p.value("config", ptr, n); got != want {
			t.Errorf("config %q = %q", key, got)
		}
	}
	for key, want := range map[string]abi.Errno{"KEY": abi.Absent, "": abi.Absent, "\xc3": abi.BadArgument} {
		ptr, n := p.put(512, key)
		if got := p.call("config", ptr, n, 8192, 64); got != int64(want) {
			t.Errorf("config %q = %d", key, got)
		}
	}
}

func TestNowAndRandom(t *testing.T) {
	p := newProbe(t, Settings{})
	before := time.Now().UnixMilli()
	if got := p.call("now_ms"); got < before || got > time.Now().UnixMilli() {
		t.Errorf("now_ms = %d, and it was %d before", got, before)
	}
	const room = 100_000 // more than one piece of the source
	p.put(1000, strings.Repeat("\x00", room+1))
	if got := p.call("random", 1000, room); got != 0 {
		t.Fatalf("random = %d", got)
	}
	b := p.get(1000, room+1)
	if b[room] != 0 {
		t.Error("random wrote past its end")
	}
	if zeros := strings.Count(b[:room], "\x00"); zeros > room/100 {
		t.Errorf("%d of %d bytes are 0", zeros, room)
	}
}

// A gigabyte of randomness takes seconds, and must not take them past the deadline.
func TestRandomLooksAtTheDeadline(t *testing.T) {
	p := newProbe(t, Settings{})
	c := p.instance.call
	if err := c.begin(t.Context(), time.Now(), time.Hour); err != nil {
		t.Fatal(err)
	}
	c.expire()
	if got := random(c, p.instance.mod.Memory(), []uint64{0, 100}); got != int64(abi.DeadlinePassed) {
		t.Errorf("random = %d", got)
	}
	if err := c.end(); err != context.DeadlineExceeded {
		t.Error(err)
	}
}

// Inside inbox_init there is no message, and only what needs none works.
func TestFunctionsInsideInit(t *testing.T) {
	p := newProbe(t, Settings{})
	for n, name := range p.names {
		v, _ := p.instance.mod.Memory().ReadUint64Le(uint32(1024 + 8*n))
		f, _ := abi.Lookup(name)
		if refused := int64(v) == int64(abi.NotAllowed); refused == f.InInit {
			t.Errorf("%s inside inbox_init = %d", name, int64(v))
		}
	}
}

// A name that the table does not have would never be registered.
func TestOfferedFunctionsAreOfTheContract(t *testing.T) {
	for name := range offered {
		if _, ok := abi.Lookup(name); !ok {
			t.Errorf("%s is offered and not in the contract", name)
		}
	}
}
