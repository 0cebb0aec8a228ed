package engine

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/inbox-wasm/inbox-wasm/internal/testwasm"
)

// good is the rest of a module that has everything it needs.
const good = `(memory (export "memory") 1) (func (export "inbox_handle") (result i32) (i32.const 0))`

func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		bytes string // or
		wat   string
		limit int64
		want  string
	}{
		"empty":         {bytes: "", want: "is empty: check that the build wrote it"},
		"ELF":           {bytes: "\x7fELF\x02\x01\x01", want: "is a native program or library, not WebAssembly: build a core module"},
		"Mach-O":        {bytes: "\xcf\xfa\xed\xfe\x07", want: "is a native program or library"},
		"PE":            {bytes: "MZ\x90\x00", want: "is a native program or library"},
		"gzip":          {bytes: "\x1f\x8b\x08\x00", want: "is compressed with gzip: decompress it"},
		"zip":           {bytes: "PK\x03\x04", want: "is a zip archive: unpack it"},
		"archive":       {bytes: "!<arch>\n", want: "is a static library archive: link it into a module"},
		"WAT":           {bytes: "\n (module)", want: "is WebAssembly in its text form: assemble it with wat2wasm"},
		"WAT, comment":  {bytes: ";; a handler\n(module)", want: "is WebAssembly in its text form"},
		"text":          {bytes: "#!/bin/sh\nexit 0\n", want: `is not WebAssembly but text that starts with "#!/bin/sh"`},
		"bytes":         {bytes: "\xff\xfe\x00\x01\x02\x03\x04\x05\x06", want: "is not WebAssembly: it starts with the bytes ff fe 00 01 02 03 04 05:"},
		"cut preamble":  {bytes: "\x00asm\x01", want: "ends after 5 bytes: check that the build finished"},
		"component":     {bytes: "\x00asm\x0d\x00\x01\x00", want: "is a WebAssembly component, and this host runs core modules: build for wasm32-wasip1"},
		"version 2":     {bytes: "\x00asm\x02\x00\x00\x00", want: "has WebAssembly version 2, layer 0, and this host runs version 1"},
		"cut section":   {bytes: "\x00asm\x01\x00\x00\x00\x01\xff", want: "is not a valid WebAssembly module: unexpected end"},
		"long number":   {bytes: "\x00asm\x01\x00\x00\x00\x01\xff\xff\xff\xff\x7f", want: "is not a valid WebAssembly module: a number is too large"},
		"bad type form": {bytes: "\x00asm\x01\x00\x00\x00\x01\x02\x01\x5f", want: "is not a valid WebAssembly module: section 1: type form 0x5f"},

		"nothing":                {wat: `(module)`, want: "exports no inbox_handle; it exports nothing: export a function inbox_handle () -> i32"},
		"no handle":              {wat: `(module (func (export "b")) (func (export "a")))`, want: "exports no inbox_handle; it exports a, b: export a function"},
		"reactor as a command":   {wat: `(module (import "inbox_v1" "attempt" (func (result i32))) (memory (export "memory") 1) (func (export "_start")))`, want: "imports functions of inbox_v1 and exports _start alone, as a command does: build a reactor: in Go with -buildmode=c-shared"},
		"odd command":            {wat: `(module (memory (export "memory") 1) (func (export "_start") (param i32)))`, want: "exports _start as something else than a function () -> (): build it for WASI preview 1"},
		"command with a handler": {wat: `(module ` + good + ` (func (export "_start")))`, want: "is a command that also exports a handler: it has _start and no _initialize, so that nothing would set it up: build a reactor: in Go with -buildmode=c-shared"},
		"batch without its count": {wat: `(module (memory (export "memory") 1) (func (export "inbox_handle_batch") (result i32) (i32.const 0)))`,
			want: "exports inbox_handle_batch as () -> i32, and it must be (i32) -> i32"},
		"handle with a parameter": {wat: `(module (memory (export "memory") 1) (func (export "inbox_handle") (param i32) (result i32) (i32.const 0)))`,
			want: "exports inbox_handle as (i32) -> i32, and it must be () -> i32"},
		"handle without a result": {wat: `(module (memory (export "memory") 1) (func (export "inbox_handle")))`,
			want: "exports inbox_handle as () -> (), and it must be () -> i32"},
		"handle that is a global": {wat: `(module (memory (export "memory") 1) (global (export "inbox_handle") i32 (i32.const 0)))`,
			want: "exports inbox_handle as a global, and it must be a function () -> i32"},
		"init with i64": {wat: `(module ` + good + ` (func (export "inbox_init") (result i64) (i64.const 0)))`,
			want: "exports inbox_init as () -> i64, and it must be () -> i32"},
		"_initialize with a result": {wat: `(module ` + good + ` (func (export "_initialize") (result i32) (i32.const 0)))`,
			want: "exports _initialize as () -> i32, and it must be () -> ()"},
		"no memory": {wat: `(module (func (export "inbox_handle") (result i32) (i32.const 0)))`, want: "exports no memory: export its linear memory"},
		"memory under another name": {wat: `(module (memory (export "mem") 1) (func (export "inbox_handle") (result i32) (i32.const 0)))`,
			want: "exports no memory"},
		"memory that is a function": {wat: `(module (memory 1) (func (export "memory")) (func (export "inbox_handle") (result i32) (i32.const 0)))`,
			want: "exports memory as a function"},
		"initial memory over the limit": {wat: `(module (memory (export "memory") 17) (func (export "inbox_handle") (result i32) (i32.const 0)))`,
			limit: 1 << 20, want: "needs 1.1 MiB of memory to start, and its limit is 1 MiB: raise the handler's memory"},
		"limit below a page": {wat: `(module ` + good + `)`, limit: 65535, want: "has a memory limit of 65535 bytes, and a page of memory is 64 KiB"},
		"negative limit":     {wat: `(module ` + good + `)`, limit: -1, want: "has a memory limit of -1 bytes"},

		"db": {wat: `(module (import "inbox_v1" "db" (func (param i32 i32 i32 i32 i32) (result i32))) ` + good + `)`,
			want: "imports inbox_v1.db, which its handler does not allow: write allow = { db = \"pool\" }"},
		"http and result": {wat: `(module (import "inbox_v1" "http" (func (param i32 i32) (result i32))) (import "inbox_v1" "result" (func (param i32 i32) (result i32))) ` + good + `)`,
			want: "imports inbox_v1.http, which its handler does not allow: write allow = { http = "},
		"http and publish": {wat: `(module (import "inbox_v1" "http" (func (param i32 i32) (result i32))) (import "inbox_v1" "publish" (func (param i32 i32 i32 i32) (result i32))) ` + good + `)`,
			want: "imports inbox_v1.http, which its handler does not allow"},
		"a slip": {wat: `(module (import "inbox_v1" "pay_load" (func (param i32 i32) (result i32))) ` + good + `)`,
			want: "imports inbox_v1.pay_load, which this host does not have: did you mean payload?"},
		"unlike anything": {wat: `(module (import "inbox_v1" "frobnicate_widget" (func)) ` + good + `)`,
			want: "imports inbox_v1.frobnicate_widget, which this host does not have: build it with an SDK of contract version 1"},
		"wrong signature": {wat: `(module (import "inbox_v1" "payload" (func (param i32 i64))) ` + good + `)`,
			want: "imports inbox_v1.payload as (i32, i64) -> (), and it is (buf: i32, cap: i32) -> i32"},
		"a function as a global": {wat: `(module (import "inbox_v1" "payload" (global i32)) ` + good + `)`,
			want: "imports inbox_v1.payload as a global, and this host offers functions: build it with a global of its own"},
		"env": {wat: `(module (import "env" "seed" (func (result f64))) ` + good + `)`,
			want: "imports env.seed, and this host offers the modules inbox_v1 and wasi_snapshot_preview1: define seed in the module"},
		"imported memory": {wat: `(module (import "env" "memory" (memory 1)) (export "memory" (memory 0)) (func (export "inbox_handle") (result i32) (i32.const 0)))`,
			want: "imports env.memory, and this host offers the modules inbox_v1 and wasi_snapshot_preview1: build it with a memory of its own, without --import-memory"},
		"imported table": {wat: `(module (import "env" "table" (table 1 funcref)) ` + good + `)`, want: "imports env.table, and this host"},
		"next version":   {wat: `(module (import "inbox_v2" "payload" (func)) ` + good + `)`, want: "imports inbox_v2.payload, and this host offers the modules inbox_v1 and wasi_snapshot_preview1: build it with an SDK of contract version 1"},
		"preview 2":      {wat: `(module (import "wasi:cli/run" "run" (func)) ` + good + `)`, want: "build it for WASI preview 1 instead of preview 2"},
		"preview 0":      {wat: `(module (import "wasi_unstable" "fd_write" (func)) ` + good + `)`, want: "build it for WASI preview 1, whose module is wasi_snapshot_preview1"},
		"GOOS=js":        {wat: `(module (import "gojs" "runtime.wasmExit" (func (param i32))) ` + good + `)`, want: "build it with GOOS=wasip1 instead of GOOS=js"},
		"wasm-bindgen":   {wat: `(module (import "wbg" "__wbindgen_throw" (func (param i32 i32))) ` + good + `)`, want: "build it without wasm-bindgen"},
		"another module": {wat: `(module (import "host" "f" (func)) ` + good + `)`, want: "build it without that import"},
		"unknown WASI": {wat: `(module (import "wasi_snapshot_preview1" "sock_open" (func (param i32) (result i32))) ` + good + `)`,
			want: "imports wasi_snapshot_preview1.sock_open, which WASI preview 1 does not have here"},
		"wrong WASI": {wat: `(module (import "wasi_snapshot_preview1" "proc_exit" (func (param i64))) ` + good + `)`,
			want: "imports wasi_snapshot_preview1.proc_exit as (i64) -> (), and it is (i32) -> ()"},
	} {
		t.Run(name, func(t *testing.T) {
			wasm := []byte(c.bytes)
			if c.wat != "" {
				wasm = testwasm.WAT(t, c.wat)
			}
			_, err := newEngine(t, Options{}).LoadBytes(t.Context(), "h.wasm", wasm, Limits{Memory: c.limit})
			var load *LoadError
			if !errors.As(err, &load) || load.Path != "h.wasm" {
				t.Fatalf("%T %v", err, err)
			}
			if !strings.HasPrefix(err.Error(), "module h.wasm ") || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got  %s\nwant %s", err, c.want)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one line: %s", err)
			}
		})
	}
}

// Some faults only the compiler sees: here, a body that does not type-check. wat2wasm would refuse it.
func TestInvalidCode(t *testing.T) {
	wasm := bytes.Clone(testwasm.WAT(t, `(module (memory (export "memory") 1) (func (export "inbox_handle") (result i32) (i32.const 0)))`))
	body := bytes.LastIndex(wasm, []byte{0x41, 0x00, 0x0b}) // i32.const 0, end
	wasm[body] = 0x42                                       // i64.const
	_, err := newEngine(t, Options{CacheDir: filepath.Join(t.TempDir(), "cache")}).LoadBytes(t.Context(), "h.wasm", wasm, Limits{})
	var load *LoadError
	if !errors.As(err, &load) || !strings.HasPrefix(load.What, "is not a valid WebAssembly module: invalid function[0]") {
		t.Error(err)
	}
}

func TestLoadFromAFile(t *testing.T) {
	e := newEngine(t, Options{})
	path := testwasm.WATFile(t, "testdata/faces.wat")
	m, err := e.Load(t.Context(), path, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	wasm, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	hash := sha256.Sum256(wasm)
	info := m.Info()
	if info.Path != path || info.Hash != hex.EncodeToString(hash[:]) || info.Size != int64(len(wasm)) || info.InitialMemory != 2*pageSize || info.CompileTime <= 0 {
		t.Errorf("%+v", info)
	}
	if got := strings.Join(info.Exports, " "); got != "inbox_handle memory" {
		t.Error(got)
	}
	if got := strings.Join(info.Imports, " "); !strings.HasPrefix(got, "inbox_v1.payload inbox_v1.retry_after ") {
		t.Error(got)
	}
	for range 2 {
		if err := m.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if _, err := m.NewInstance(t.Context(), Settings{}); err == nil || err.Error() != "start module "+path+": the module is closed" {
		t.Error(err)
	}
	if _, err := e.Load(t.Context(), path+".absent", Limits{}); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "load module "+path) {
		t.Error(err)
	}
}

func TestClosedEngineAndDoneContext(t *testing.T) {
	e := newEngine(t, Options{})
	m := load(t, e, "ack", wat(t, "ack"), Limits{})
	for range 2 {
		if err := e.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := e.LoadBytes(t.Context(), "ack", wat(t, "ack"), Limits{}); !errors.Is(err, errEngineClosed) {
		t.Error(err)
	}
	if _, err := m.NewInstance(t.Context(), Settings{}); !errors.Is(err, errEngineClosed) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := New(ctx, Options{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(wat(f, "faces"))
	f.Add(wat(f, "ack"))
	f.Add([]byte("\x00asm\x01\x00\x00\x00\x05\x03\x01\x04\x01"))
	f.Fuzz(func(t *testing.T, b []byte) {
		// Whatever the bytes, an answer and no panic; what passes is fit to be asked everything.
		if p, err := check("fuzz", b, 1<<32, nil); err == nil {
			p.info("fuzz", contentHash{}, len(b), 0)
			p.exports()
			again, err := parse(boundTables(b, p.tables))
			if err != nil || len(again.tables) < len(p.tables) || len(again.exported) != len(p.exported) {
				t.Errorf("written anew: %v", err)
			}
		}
	})
}
