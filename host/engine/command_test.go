package engine

import (
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/inbox-wasm/inbox-wasm/abi"
	"github.com/inbox-wasm/inbox-wasm/internal/testwasm"
)

func program(t testing.TB, log *lines) *Instance {
	t.Helper()
	m, err := newEngine(t, Options{CacheDir: compiled}).Load(t.Context(), testwasm.GoCommand(t, "testdata/gocommand"), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
	if !m.Info().Command {
		t.Error("it is not known as a command")
	}
	return instance(t, m, Settings{Log: log.logger(slog.LevelInfo)})
}

// The exit code is the outcome, and the end of standard error the reason.
func TestCommandsExitCodeIsItsOutcome(t *testing.T) {
	i := program(t, &lines{})
	for input, want := range map[string]Result{
		"exit 0 all is well":         {Code: abi.Ack},
		"exit 75 the disk is full\n": {Code: abi.RetryAfter, Reason: "the disk is full"},
		"exit 65 no such order":      {Code: abi.DeadLetter, Reason: "no such order"},
		"exit 1 oh no":               {Code: NoOutcome, Failure: Exit, Call: Exit, Reason: "exit code 1; reason: oh no"},
		"exit 3 ":                    {Code: NoOutcome, Failure: Exit, Call: Exit, Reason: "exit code 3"},
	} {
		r := i.Handle(t.Context(), &Message{Subscription: "work", ID: []byte("1"), Payload: []byte(input), Timeout: time.Minute})
		if r.Memory == 0 || r.Ticks == 0 || r.Start.IsZero() || r.Elapsed == 0 || !r.Reusable {
			t.Errorf("%s: %+v", input, r)
		}
		r.Memory, r.Ticks, r.Start, r.Elapsed, r.Reusable = 0, 0, time.Time{}, 0, false
		if r != want {
			t.Errorf("%s: %+v, want %+v", input, r, want)
		}
	}
	r := i.Handle(t.Context(), &Message{Payload: []byte("panic "), Timeout: time.Minute})
	if r.Failure != Exit || !strings.HasPrefix(r.Reason, "exit code 2; reason: panic: at the disco") {
		t.Errorf("%+v", r)
	}
	long := strings.Repeat("x", 3*MaxReason) + " the end"
	r = i.Handle(t.Context(), &Message{Payload: []byte("exit 1 " + long), Timeout: time.Minute})
	if len(r.Reason) > MaxReason+40 || !strings.HasSuffix(r.Reason, " the end") {
		t.Errorf("a reason of %d bytes that ends in %q", len(r.Reason), r.Reason[len(r.Reason)-10:])
	}
}

// A command sees its message, and nothing of the host.
func TestCommandSeesItsMessage(t *testing.T) {
	log := &lines{}
	i := program(t, log)
	m := &Message{Subscription: "work", Table: "jobs", Group: "mails", ID: []byte(`"a\u00fc"`), Attempt: 3, Headers: []byte(`{"k":"v"}`),
		Payload: []byte("env "), Timeout: time.Minute}
	if r := i.Handle(t.Context(), m); r.Code != abi.Ack {
		t.Fatalf("%+v", r)
	}
	for _, payload := range []string{"count " + strings.Repeat("y", 1<<20), "file "} {
		if r := i.Handle(t.Context(), &Message{Subscription: "work", ID: []byte("7"), Payload: []byte(payload), Timeout: time.Minute}); r.Code != abi.Ack {
			t.Fatalf("%+v", r)
		}
	}
	var got []string
	for _, line := range log.all() {
		_, message, _ := strings.Cut(line, "msg=")
		message, rest, _ := strings.Cut(message, " row=")
		if !strings.Contains(rest, "stream=stdout") {
			t.Errorf("%s", line)
		}
		got = append(got, message)
	}
	want := []string{"INBOX_ATTEMPT=3", "INBOX_GROUP=mails", `INBOX_HEADERS={"k":"v"}`, "INBOX_ID=aü", "INBOX_TABLE=jobs", "args [work]", "1048576",
		"open /etc/passwd: Bad file number"}
	for i := range got {
		got[i] = strings.ReplaceAll(strings.Trim(got[i], `"`), `\"`, `"`)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestCommandIsEndedByItsDeadline(t *testing.T) {
	i := program(t, &lines{})
	r := i.Handle(t.Context(), &Message{Payload: []byte("loop "), Timeout: 200 * time.Millisecond})
	if r.Failure != Timeout || r.Reusable || r.Elapsed > 5*time.Second {
		t.Errorf("%+v", r)
	}
	if again := i.Handle(t.Context(), &Message{Payload: []byte("exit 0 ")}); again.Failure != Trap {
		t.Errorf("a call after it: %+v", again)
	}
}

// Messages share nothing: what one leaves in memory is gone for the next.
func TestCommandsAreFresh(t *testing.T) {
	wasm := testwasm.WAT(t, `(module (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
		(memory (export "memory") 2)
		(func (export "_start") (i32.store (i32.const 0) (i32.add (i32.load (i32.const 0)) (i32.const 75))) (call $exit (i32.load (i32.const 0)))))`)
	i := instance(t, load(t, newEngine(t, Options{}), "fresh", wasm, Limits{}), Settings{})
	for range 100 {
		if r := i.Handle(t.Context(), &Message{Timeout: time.Minute}); r.Code != abi.RetryAfter || r.Memory != 2*pageSize {
			t.Fatalf("%+v", r)
		}
	}
}
