package engine

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/inbox-wasm/inbox-wasm/abi"
	"github.com/inbox-wasm/inbox-wasm/internal/testwasm"
)

// An export of a Go reactor that is called before _initialize breaks it (golang/go#71240).
func TestCase39_InitializeComesFirst(t *testing.T) {
	i := instance(t, load(t, newEngine(t, Options{}), "init", wat(t, "init"), Limits{}), Settings{})
	for range 2 {
		if r := i.Handle(t.Context(), &Message{}); r.Code != abi.Ack || r.Failure != None {
			t.Errorf("%+v", r)
		}
	}
}

func TestFailedStarts(t *testing.T) {
	m := load(t, newEngine(t, Options{}), "init", wat(t, "init"), Limits{})
	for start, want := range map[string]InitError{
		"r": {Step: "inbox_init", Failure: None, Code: 5, Reason: "refused with code 5; reason: no database"},
		"x": {Step: "inbox_init", Failure: Exit, Reason: "proc_exit(0)"},
		"t": {Step: "inbox_init", Failure: Trap, Reason: "unreachable"},
		"l": {Step: "inbox_init", Failure: Timeout, Reason: "the deadline passed", err: context.DeadlineExceeded},
		"X": {Step: "_initialize", Failure: Exit, Reason: "proc_exit(0)"},
		"T": {Step: "_initialize", Failure: Trap, Reason: "unreachable"},
		"L": {Step: "_initialize", Failure: Timeout, Reason: "the deadline passed", err: context.DeadlineExceeded},
	} {
		i, err := m.NewInstance(t.Context(), Settings{Config: map[string]string{"start": start}, InitTimeout: 50 * time.Millisecond})
		var got *InitError
		if i != nil || !errors.As(err, &got) {
			t.Fatalf("%s: %v, %v", start, i, err)
		}
		want.Path = "init"
		if *got != want {
			t.Errorf("%s: got %+v, want %+v", start, *got, want)
		}
		if got.Error() != "start module init: "+want.Step+": "+want.Reason {
			t.Errorf("%s: %s", start, got)
		}
	}
}

func TestInterruptedStarts(t *testing.T) {
	m := load(t, newEngine(t, Options{}), "init", wat(t, "init"), Limits{})
	before, cancel := context.WithCancel(t.Context())
	cancel()
	during, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	for name, ctx := range map[string]context.Context{"before": before, "during": during} {
		_, err := m.NewInstance(ctx, Settings{Config: map[string]string{"start": "l"}})
		var got *InitError
		if !errors.As(err, &got) || got.Failure != Interrupted || !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The start section runs while the module is instantiated, with the same functions and limits.
func TestStartSection(t *testing.T) {
	e := newEngine(t, Options{})
	for name, c := range map[string]struct{ body, want string }{
		"good":  {`(if (i64.le_s (call $now) (i64.const 0)) (then unreachable))`, ""},
		"trap":  {`unreachable`, "start module trap: start: unreachable"},
		"loop":  {`(loop $l (br $l))`, "start module loop: start: the deadline passed"},
		"early": {`(drop (call $attempt)) (if (i32.ne (call $attempt) (i32.const -3)) (then unreachable))`, ""},
	} {
		imports := `(import "inbox_v1" "now_ms" (func $now (result i64)))`
		if name == "early" {
			imports = `(import "inbox_v1" "attempt" (func $attempt (result i32)))`
		}
		m := load(t, e, name, testwasm.WAT(t, `(module `+imports+good+`(func $s `+c.body+`) (start $s))`), Limits{})
		i, err := m.NewInstance(t.Context(), Settings{InitTimeout: 50 * time.Millisecond})
		if err == nil {
			if err := i.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}
