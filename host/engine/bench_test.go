package engine

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/inbox-wasm/inbox-wasm/abi"
	"github.com/inbox-wasm/inbox-wasm/internal/testwasm"
)

// bench handles one message again and again as the host does: with a deadline, under a context that could be
// cancelled.
func bench(b *testing.B, module string, m Message) {
	i := instance(b, load(b, newEngine(b, Options{}), module, wat(b, module), Limits{}), Settings{})
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	b.ReportAllocs()
	for b.Loop() {
		if r := i.Handle(ctx, &m); r.Code != abi.Ack {
			b.Fatalf("%+v", r)
		}
	}
}

// A call allocates nothing of ours. wazero's own part, three allocations for the goroutine that watches the
// deadline, is left out: the runtime makes a varying number of goroutines anew.
func TestHandleAllocatesNothing(t *testing.T) {
	i := instance(t, load(t, newEngine(t, Options{}), "payload", wat(t, "payload"), Limits{}), Settings{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	m := &Message{Payload: []byte("payload"), Timeout: time.Hour}
	c := i.call
	args := []uint64{0, 100}
	allocs := testing.AllocsPerRun(1000, func() {
		c.reset(m)
		if err := c.begin(ctx, time.Now(), m.Timeout); err != nil {
			t.Fatal(err)
		}
		length := payload(c, i.mod.Memory(), args)
		e := ended{}
		e.failure, e.what = i.failure(nil, c.end())
		if r := i.result(&e, abi.ExportHandle, c.said); r.Failure != None || length != 7 || r.Code != abi.Ack {
			t.Fatalf("%d, %+v", length, r)
		}
		c.flush()
	})
	if allocs > 0 {
		t.Errorf("%.1f allocations a call", allocs)
	}
}

func BenchmarkEmpty(b *testing.B) { bench(b, "ack", Message{Timeout: 30 * time.Second}) }

func BenchmarkEmptyWithoutDeadline(b *testing.B) { bench(b, "ack", Message{}) }

func BenchmarkPayload100(b *testing.B) {
	bench(b, "payload", Message{Timeout: 30 * time.Second, Payload: make([]byte, 100)})
}

func BenchmarkInstance(b *testing.B) {
	m := load(b, newEngine(b, Options{}), "ack", wat(b, "ack"), Limits{})
	b.ReportAllocs()
	for b.Loop() {
		i, err := m.NewInstance(b.Context(), Settings{})
		if err != nil {
			b.Fatal(err)
		}
		if err := i.Close(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLoad(b *testing.B) {
	e := newEngine(b, Options{})
	wasm := wat(b, "ack")
	b.ReportAllocs()
	for b.Loop() {
		m, err := e.LoadBytes(b.Context(), "ack", wasm, Limits{})
		if err != nil {
			b.Fatal(err)
		}
		if err := m.Close(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCommand is a command's whole life for a message: a fresh instance of a module of about 100 KiB.
func BenchmarkCommand(b *testing.B) {
	var source strings.Builder
	source.WriteString(`(module (memory (export "memory") 2) (data (i32.const 0) "`)
	for range 64 << 10 {
		source.WriteByte('x')
	}
	source.WriteString(`")`)
	for n := range 1000 {
		fmt.Fprintf(&source, "(func $f%d (param i32) (result i32) (i32.add (i32.mul (local.get 0) (i32.const %d)) (i32.const %d)))", n, n, n*n)
	}
	source.WriteString(`(func (export "_start") (drop (call $f7 (i32.const 1)))))`)
	wasm := testwasm.WAT(b, source.String())
	i := instance(b, load(b, newEngine(b, Options{}), "command", wasm, Limits{}), Settings{})
	b.ReportMetric(float64(len(wasm))/1024, "KiB")
	m := &Message{Payload: []byte("{}"), Timeout: time.Minute}
	for b.Loop() {
		if r := i.Handle(b.Context(), m); r.Failure != None {
			b.Fatalf("%+v", r)
		}
	}
}
