package engine

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/inbox-wasm/inbox-wasm/abi"
	"github.com/inbox-wasm/inbox-wasm/internal/testwasm"
)

// asks is a guest that calls db with what its payload holds: one byte of the conn, and the statement. The
// arguments are [7]. It says what came back as the reason: the result's text, or else a number of its own as the
// outcome, 100 less what db answered.
const asks = `(module
  (import "inbox_v1" "payload" (func $payload (param i32 i32) (result i32)))
  (import "inbox_v1" "db" (func $db (param i32 i32 i32 i32 i32) (result i32)))
  (import "inbox_v1" "result" (func $result (param i32 i32) (result i32)))
  (import "inbox_v1" "reason" (func $reason (param i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 16) "[7]")
  (func (export "inbox_handle") (result i32) (local $n i32) (local $r i32)
    (local.set $n (call $payload (i32.const 1024) (i32.const 1024)))
    (local.set $r (call $db (i32.sub (i32.load8_u (i32.const 1024)) (i32.const 48))
      (i32.const 1025) (i32.sub (local.get $n) (i32.const 1)) (i32.const 16) (i32.const 3)))
    (if (i32.ne (call $result (i32.const 0) (i32.const 0)) (i32.const -1)) (then
      (drop (call $reason (i32.const 2048) (call $result (i32.const 2048) (i32.const 4096))))))
    (if (i32.lt_s (local.get $r) (i32.const 0)) (then (return (i32.sub (i32.const 100) (local.get $r)))))
    (i32.const 3)))`

func TestDBPassesStatementsOn(t *testing.T) {
	calls := 0
	statements := func(_ context.Context, conn int32, sql string, args []byte) ([]byte, abi.Errno) {
		calls++
		text := []byte(string('0'+rune(conn)) + sql + string(args))
		switch sql {
		case "fail":
			return text, abi.Failed
		case "large":
			return nil, abi.TooLarge
		case "panic":
			panic("in the store")
		}
		return text, 0
	}
	m := load(t, newEngine(t, Options{}), "asks", testwasm.WAT(t, asks), Limits{Allowed: []string{"db"}})
	i, err := m.NewInstance(t.Context(), Settings{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = i.Close(t.Context()) }()
	for _, c := range []struct {
		payload string
		code    abi.Code
		reason  string
		calls   int
	}{
		{"0SELECT 1", abi.Drop, "0SELECT 1[7]", 1},
		{"1ü", abi.Drop, "1ü[7]", 1},
		{"1fail", 104, "1fail[7]", 1},
		{"1large", 106, "", 1},
		{"1panic", 104, "", 1},
		{"2SELECT 1", 102, "", 0},
		{"1\xff", 102, "", 0},
	} {
		calls = 0
		r := i.Handle(t.Context(), &Message{Payload: []byte(c.payload), Statements: statements})
		_, reason, _ := strings.Cut(r.Reason, "reason: ")
		if r.Failure == None {
			reason = r.Reason
		}
		if r.Code != c.code || reason != c.reason || calls != c.calls {
			t.Errorf("%q: code %d, reason %q, %d calls; want %d, %q, %d", c.payload, r.Code, reason, calls, c.code, c.reason, c.calls)
		}
	}
	// The last message's result is not this one's.
	if r := i.Handle(t.Context(), &Message{Payload: []byte("1SELECT 1")}); r.Code != 103 || strings.Contains(r.Reason, "reason: ") {
		t.Errorf("without a grant: code %d, reason %q", r.Code, r.Reason)
	}
}

// A statement sees the deadline and the interruption of its guest.
func TestDBEndsWithItsGuest(t *testing.T) {
	m := load(t, newEngine(t, Options{}), "asks", testwasm.WAT(t, asks), Limits{Allowed: []string{"db"}})
	wait := func(ctx context.Context, _ int32, _ string, _ []byte) ([]byte, abi.Errno) {
		<-ctx.Done()
		return nil, abi.DeadlinePassed
	}
	i, err := m.NewInstance(t.Context(), Settings{})
	if err != nil {
		t.Fatal(err)
	}
	r := i.Handle(t.Context(), &Message{Payload: []byte("1wait"), Statements: wait, Timeout: 20 * time.Millisecond})
	if r.Failure != Timeout || r.Elapsed > time.Second {
		t.Errorf("failure %v after %v", r.Failure, r.Elapsed)
	}
	_ = i.Close(t.Context())
	if i, err = m.NewInstance(t.Context(), Settings{}); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = i.Close(t.Context()) }()
	ctx, cancel := context.WithCancel(t.Context())
	interrupted := func(ctx context.Context, conn int32, sql string, args []byte) ([]byte, abi.Errno) {
		cancel()
		return wait(ctx, conn, sql, args)
	}
	if r = i.Handle(ctx, &Message{Payload: []byte("1wait"), Statements: interrupted, Timeout: time.Minute}); r.Code == abi.Ack || r.Failure == Timeout {
		t.Errorf("code %d, failure %v", r.Code, r.Failure)
	}
}
