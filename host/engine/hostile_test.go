package engine

import (
	"context"
	"log/slog"
	"math"
	"strings"
	"testing"

	"github.com/inbox-wasm/inbox-wasm/abi"
)

// pairs are the (pointer, length) arguments of each offered function, by the position of the pointer. A
// function that is offered one day without being listed here fails the test.
var pairs = map[string][]int{
	"payload": {0}, "meta": {0}, "header": {0, 2}, "config": {0, 2}, "reason": {0}, "log": {1}, "random": {0},
	"attempt": {}, "deadline_ms": {}, "retry_after": {}, "log_enabled": {}, "now_ms": {},
	"message": {}, "outcome": {}, "db": {1, 3}, "http": {0}, "publish": {0, 2}, "result": {0},
}

// A plugin host trusted its guests' pointers (fluvio#4652).
func TestCase37_PointersOutsideMemory(t *testing.T) {
	// The payload and every value are long enough that nothing is refused for want of room alone.
	p := newProbe(t, Settings{Log: slog.New(slog.DiscardHandler), Config: map[string]string{"": strings.Repeat("v", 64)}})
	p.message.Payload = make([]byte, 64)
	p.message.Headers = []byte(`{"":"` + strings.Repeat("h", 64) + `"}`)
	outside := [][2]uint64{
		{0xfffffff0, 0x20},               // overflows 32 bits to a small sum
		{0xffffffff, 1},                  //
		{0xffffffff, 0xffffffff},         //
		{1, 0xffffffff},                  //
		{0, 0xffffffff},                  //
		{0x80000000, 0x80000000},         // sums to 0 in 32 bits
		{probeEnd, 1},                    //
		{probeEnd - 1, 2},                //
		{0, probeEnd + 1},                //
		{probeEnd + 1, math.MaxUint32},   //
		{0x1_0000_0000 | probeEnd, 0x20}, // an i32's upper half is not its own
	}
	for name := range offered {
		positions, listed := pairs[name]
		if !listed {
			t.Errorf("%s is not in the table of this test", name)
		}
		f, _ := abi.Lookup(name)
		for _, at := range positions {
			for _, o := range outside {
				args := make([]uint64, len(f.Params))
				for _, other := range positions {
					args[other], args[other+1] = 512, 0 // harmless
				}
				args[at], args[at+1] = o[0], o[1]
				if got := p.call(name, args...); got != int64(abi.BadArgument) {
					t.Errorf("%s%x = %d", name, args, got)
				}
			}
		}
	}
}

// Nothing that a guest passes may break it, let alone the host: every argument takes every odd value.
func TestCase37_OddArgumentsNeverBreakTheGuest(t *testing.T) {
	p := newProbe(t, Settings{Log: slog.New(slog.DiscardHandler)})
	p.message.Payload = []byte("payload")
	odd := []uint64{0, 1, 0x20, probeEnd - 1, probeEnd, 0x7fffffff, 0x80000000, 0xfffffff0, 0xffffffff, 1 << 63, math.MaxUint64}
	for name := range offered {
		f, _ := abi.Lookup(name)
		args := make([]uint64, len(f.Params))
		var try func(int)
		try = func(n int) {
			if n < len(args) {
				for _, v := range odd {
					args[n] = v
					try(n + 1)
				}
				return
			}
			v := p.call(name, args...)
			if f.Result == abi.I32 && (v < int64(abi.TooLarge) || v > math.MaxInt32) {
				t.Fatalf("%s%x = %d", name, args, v)
			}
		}
		// header and config take four arguments each: 14,641 calls.
		try(0)
	}
}

// panicking is a log whose handler breaks.
type panicking struct{ slog.Handler }

func (panicking) Enabled(context.Context, slog.Level) bool  { return true }
func (panicking) Handle(context.Context, slog.Record) error { panic("the log is broken") }

// A fault on the host's side of a function is the function's failure, not the guest's end.
func TestPanicInAHostFunctionStaysThere(t *testing.T) {
	p := newProbe(t, Settings{Log: slog.New(panicking{slog.DiscardHandler})})
	ptr, n := p.put(512, "line")
	if got := p.call("log", uint64(abi.LevelInfo), ptr, n); got != int64(abi.Failed) {
		t.Errorf("log = %d", got)
	}
	p.message.Payload = []byte("still here")
	if got := p.value("payload"); got != "still here" {
		t.Error(got)
	}
}
