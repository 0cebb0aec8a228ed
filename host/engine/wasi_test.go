package engine

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/inbox-wasm/inbox-wasm/internal/testwasm"
)

// An engine's default random source gave every instance the same numbers (extism#637).
func TestCase32_InstancesDoNotShareRandomness(t *testing.T) {
	m := load(t, newEngine(t, Options{}), "faces", wat(t, "faces"), Limits{})
	seen := map[string]bool{}
	for range 1000 {
		i, err := m.NewInstance(t.Context(), Settings{})
		if err != nil {
			t.Fatal(err)
		}
		if r := i.Handle(t.Context(), face("#")); r.Failure != None {
			t.Fatalf("%+v", r)
		}
		b, _ := i.mod.Memory().Read(4096, 16)
		if seen[string(b)] {
			t.Fatalf("% x came twice", b)
		}
		seen[string(b)] = true
		// Nor do they share memory or globals: this is each one's first call.
		if calls, _ := i.mod.Memory().ReadUint32Le(4112); calls != 1 {
			t.Fatalf("a fresh instance has been called %d times", calls)
		}
		if err := i.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// world asks WASI everything that a guest could learn from it, and keeps the answers from address 1024 on.
const world = `(module
  (import "wasi_snapshot_preview1" "clock_time_get" (func $clock (param i32 i64 i32) (result i32)))
  (import "wasi_snapshot_preview1" "args_sizes_get" (func $args (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "environ_sizes_get" (func $environ (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_prestat_get" (func $prestat (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_open" (func $open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "sock_accept" (func $accept (param i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 512) "etc/passwd")
  (func (export "inbox_handle") (result i32)
    (drop (call $clock (i32.const 0) (i64.const 1) (i32.const 1024)))
    (drop (call $clock (i32.const 1) (i64.const 1) (i32.const 1032)))
    ;; 20 ms of sleep between two readings of the monotonic clock.
    (i32.store (i32.const 272) (i32.const 1))
    (i64.store (i32.const 280) (i64.const 20000000))
    (drop (call $poll (i32.const 256) (i32.const 320) (i32.const 1) (i32.const 400)))
    (drop (call $clock (i32.const 1) (i64.const 1) (i32.const 1040)))
    (drop (call $args (i32.const 1048) (i32.const 1052)))
    (drop (call $environ (i32.const 1056) (i32.const 1060)))
    (i32.store (i32.const 1064) (call $prestat (i32.const 3) (i32.const 600)))
    (i32.store (i32.const 1068) (call $open (i32.const 3) (i32.const 0) (i32.const 512) (i32.const 10) (i32.const 0) (i64.const -1) (i64.const -1) (i32.const 0) (i32.const 600)))
    (i32.store (i32.const 1072) (call $accept (i32.const 3) (i32.const 0) (i32.const 600)))
    (i32.store (i32.const 128) (i32.const 700))
    (i32.store (i32.const 132) (i32.const 16))
    (i32.store (i32.const 1080) (i32.const -1))
    (i32.store (i32.const 1076) (call $read (i32.const 0) (i32.const 128) (i32.const 1) (i32.const 1080)))
    (i32.const 0)))`

// The engine's default clock stands in 2022, and sleeps under it hang or return at once (extism/go-sdk#87).
func TestCase32_ClocksAreRealAndTheRestIsEmpty(t *testing.T) {
	i := instance(t, load(t, newEngine(t, Options{}), "world", testwasm.WAT(t, world), Limits{}), Settings{})
	before := time.Now()
	r := i.Handle(t.Context(), &Message{Timeout: time.Minute})
	after := time.Now()
	if r.Failure != None || r.Elapsed < 20*time.Millisecond {
		t.Fatalf("%+v", r)
	}
	b, _ := i.mod.Memory().Read(1024, 64)
	le := binary.LittleEndian
	if wall := time.Unix(0, int64(le.Uint64(b))); wall.Before(before.Round(0)) || wall.After(after) {
		t.Errorf("the guest's time is %s, and the host's %s", wall, before)
	}
	if slept := time.Duration(le.Uint64(b[16:]) - le.Uint64(b[8:])); slept < 20*time.Millisecond || slept > after.Sub(before) {
		t.Errorf("a sleep of 20ms took %s", slept)
	}
	for offset, what := range map[int]string{24: "arguments", 28: "their size", 32: "environment variables", 36: "their size",
		52: "the error of reading standard input", 56: "bytes of standard input"} {
		if got := le.Uint32(b[offset:]); got != 0 {
			t.Errorf("%s: %d", what, got)
		}
	}
	const badf = 8
	for offset, what := range map[int]string{40: "a mounted directory", 44: "a file", 48: "a socket"} {
		if got := le.Uint32(b[offset:]); got != badf {
			t.Errorf("%s: error %d, want %d", what, got, badf)
		}
	}
}
