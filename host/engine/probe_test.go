package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/inbox-wasm/inbox-wasm/abi"
	"github.com/inbox-wasm/inbox-wasm/internal/testwasm"
)

// probe calls any host function with any arguments from inside a real guest. Its module is written out of the
// contract's table: inbox_handle reads a function's number and arguments from memory, and leaves the result.
type probe struct {
	t        testing.TB
	instance *Instance
	names    []string
	message  *Message
}

const (
	probeResult = 8  // i64
	probeArgs   = 16 // i64 each
	probePages  = 2
	probeEnd    = probePages * pageSize
)

// probeModule exports inbox_init too, which calls every function with zeros and keeps the results.
func probeModule() (source string, names []string) {
	var imports, handle, init strings.Builder
	for _, f := range abi.Functions() {
		if _, ok := offered[f.Name]; !ok {
			continue
		}
		var params, args, zeros strings.Builder
		for i, p := range f.Params {
			fmt.Fprintf(&params, " %s", p.Type)
			load := fmt.Sprintf("(i64.load (i32.const %d))", probeArgs+8*i)
			if p.Type == abi.I32 {
				load = "(i32.wrap_i64 " + load + ")"
			}
			args.WriteString(" " + load)
			fmt.Fprintf(&zeros, " (%s.const 0)", p.Type)
		}
		extend := func(call string) string {
			if f.Result == abi.I32 {
				return "(i64.extend_i32_s " + call + ")"
			}
			return call
		}
		fmt.Fprintf(&imports, "(import %q %q (func $%s (param%s) (result %s)))\n", abi.Module, f.Name, f.Name, params.String(), f.Result)
		fmt.Fprintf(&handle, "(if (i32.eq (i32.load (i32.const 0)) (i32.const %d)) (then (i64.store (i32.const %d) %s)))\n",
			len(names), probeResult, extend(fmt.Sprintf("(call $%s%s)", f.Name, args.String())))
		fmt.Fprintf(&init, "(i64.store (i32.const %d) %s)\n", 1024+8*len(names), extend(fmt.Sprintf("(call $%s%s)", f.Name, zeros.String())))
		names = append(names, f.Name)
	}
	return fmt.Sprintf("(module\n%s(memory (export \"memory\") %d)\n(func (export \"inbox_init\") (result i32)\n%s(i32.const 0))\n(func (export \"inbox_handle\") (result i32)\n%s(i32.const 0)))\n",
		imports.String(), probePages, init.String(), handle.String()), names
}

func newProbe(t testing.TB, s Settings) *probe {
	t.Helper()
	source, names := probeModule()
	m := load(t, newEngine(t, Options{}), "probe", testwasm.WAT(t, source), Limits{Allowed: []string{"db", "http", "publish"}})
	return &probe{t: t, instance: instance(t, m, s), names: names, message: &Message{Statements: echo}}
}

// echo answers a statement with itself.
func echo(_ context.Context, _ int32, sql string, _ []byte) ([]byte, abi.Errno) {
	return []byte(sql), 0
}

// call returns the function's result, and the call's.
func (p *probe) call(name string, args ...uint64) int64 {
	p.t.Helper()
	v, r := p.handle(name, args...)
	if r.Failure != None || r.Code != abi.Ack || !r.Reusable {
		p.t.Fatalf("%s%v broke the guest: %+v", name, args, r)
	}
	return v
}

func (p *probe) handle(name string, args ...uint64) (int64, Result) {
	p.t.Helper()
	n := slices.Index(p.names, name)
	if n < 0 {
		p.t.Fatalf("%s is not offered", name)
	}
	m := p.instance.mod.Memory()
	ok := m.WriteUint32Le(0, uint32(n))
	for i, a := range args {
		ok = ok && m.WriteUint64Le(uint32(probeArgs+8*i), a)
	}
	if !ok {
		p.t.Fatal("the probe's memory is too small")
	}
	r := p.instance.Handle(p.t.Context(), p.message)
	v, _ := m.ReadUint64Le(probeResult)
	return int64(v), r
}

// put writes text into the guest's memory and returns it as a pointer and a length.
func (p *probe) put(at uint32, text string) (ptr, length uint64) {
	p.t.Helper()
	if !p.instance.mod.Memory().WriteString(at, text) {
		p.t.Fatal("out of memory")
	}
	return uint64(at), uint64(len(text))
}

func (p *probe) get(at, length uint32) string {
	p.t.Helper()
	b, ok := p.instance.mod.Memory().Read(at, length)
	if !ok {
		p.t.Fatal("out of memory")
	}
	return string(b)
}

// value calls a function that ends in (buf, cap) and returns what it gave.
func (p *probe) value(name string, args ...uint64) string {
	p.t.Helper()
	const at, room = 8192, 8192
	n := p.call(name, append(args, at, room)...)
	if n < 0 || n > room {
		p.t.Fatalf("%s%v = %d", name, args, n)
	}
	return p.get(at, uint32(n))
}
