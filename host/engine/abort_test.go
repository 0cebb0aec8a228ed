package engine

import (
	"strings"
	"testing"

	"github.com/inbox-wasm/inbox-wasm/internal/testwasm"
)

// What AssemblyScript aborts with is the reason, wherever its pointers lead.
func TestAbortIsAReason(t *testing.T) {
	wasm := testwasm.WAT(t, `(module
  (import "env" "abort" (func $abort (param i32 i32 i32 i32)))
  (import "inbox_v1" "payload" (func $payload (param i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 12) "\0a\00\00\00o\00h\00 \00\fc\00!\00")
  (data (i32.const 60) "\08\00\00\00a\00.\00t\00s\00")
  (data (i32.const 96) "\ff\ff\ff\ff")
  (data (i32.const 65532) "\fc\ff\ff\ff")
  (func (export "inbox_handle") (result i32)
    (drop (call $payload (i32.const 1024) (i32.const 4)))
    (call $abort (i32.load (i32.const 1024)) (i32.const 64) (i32.const 7) (i32.const 3))
    (i32.const 0)))`)
	i := instance(t, load(t, newEngine(t, Options{}), "handler", wasm, Limits{}), Settings{})
	for pointer, want := range map[string]string{
		"\x10\x00\x00\x00": "abort: oh ü! at a.ts:7:3",
		"\x00\x00\x00\x00": "abort:  at a.ts:7:3",
		"\x03\x00\x00\x00": "abort:  at a.ts:7:3",
		"\x64\x00\x00\x00": "abort: ", // as many bytes as a reason may have
		"\xf0\xff\xff\xff": "abort:  at a.ts:7:3",
		"\x00\x00\x01\x00": "abort:  at a.ts:7:3",
	} {
		r := i.Handle(t.Context(), &Message{Payload: []byte(pointer)})
		if r.Failure != Trap || r.Reusable || !strings.Contains(r.Reason, want) {
			t.Errorf("%q: %+v, want %q", pointer, r, want)
		}
		i = instance(t, load(t, newEngine(t, Options{}), "handler", wasm, Limits{}), Settings{})
	}
}

// Another function of env, or abort with another type, is refused as before.
func TestNothingElseOfEnvIsOffered(t *testing.T) {
	for text, want := range map[string]string{
		`(import "env" "abort" (func (param i32)))`:                                       "imports env.abort",
		`(import "env" "abort" (func (param i32 i32 i32 i32) (result i32)))`:              "imports env.abort",
		`(import "env" "seed" (func (result f64)))`:                                       "imports env.seed",
		`(import "env" "abort" (func (param i32 i32 i32 i32))) (import "env" "x" (func))`: "imports env.x",
	} {
		wasm := testwasm.WAT(t, `(module `+text+` (memory (export "memory") 1) (func (export "inbox_handle") (result i32) (i32.const 0)))`)
		if _, err := newEngine(t, Options{}).LoadBytes(t.Context(), "handler", wasm, Limits{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
