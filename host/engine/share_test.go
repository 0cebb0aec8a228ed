package engine

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/inbox-wasm/inbox-wasm/abi"
)

// Closing one of two modules with the same bytes broke the other (wazero#2336).
func TestCase35_ClosingATwinLeavesTheOther(t *testing.T) {
	e := newEngine(t, Options{})
	wasm := wat(t, "faces")
	first := load(t, e, "first", wasm, Limits{})
	second := load(t, e, "second", bytes.Clone(wasm), Limits{Memory: 1 << 20})
	if first.code != second.code {
		t.Error("equal bytes were compiled twice")
	}
	if first.Info().Path != "first" || second.Info().Path != "second" || first.Info().Hash != second.Info().Hash {
		t.Errorf("%+v, %+v", first.Info(), second.Info())
	}
	i := instance(t, second, Settings{})
	if err := first.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	runtime.GC() // unmaps what nobody holds
	if r := i.Handle(t.Context(), face("g")); r.Failure != None || r.Memory != 1<<20 {
		t.Errorf("%+v", r)
	}
	again := instance(t, load(t, e, "first", wasm, Limits{Memory: 2 << 20}), Settings{})
	if r := again.Handle(t.Context(), face("g")); r.Failure != None || r.Memory != 2<<20 {
		t.Errorf("%+v", r)
	}
}

// A reload closes the old module while its instances finish.
func TestInstanceOutlivesItsModule(t *testing.T) {
	e, err := New(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := e.LoadBytes(t.Context(), "faces", wat(t, "faces"), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	i, err := m.NewInstance(t.Context(), Settings{})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r := i.Handle(t.Context(), face("0")); r.Failure != None {
		t.Errorf("%+v", r)
	}
	// So does an engine that is closed too early, and it says so.
	if err := e.Close(t.Context()); err == nil || err.Error() != "close the engine: instances are still open of faces" {
		t.Error(err)
	}
	if r := i.Handle(t.Context(), face("0")); r.Failure != None {
		t.Errorf("%+v", r)
	}
	if err := i.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(e.code) != 0 {
		t.Errorf("%d compiled modules are left", len(e.code))
	}
}

// Compiling and closing in parallel failed in a shared cache (wazero#2459).
func TestCase35_ParallelLoadAndClose(t *testing.T) {
	for name, o := range map[string]Options{"no cache": {}, "cache": {CacheDir: filepath.Join(t.TempDir(), "cache")}} {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t, o)
			modules := [][]byte{wat(t, "faces"), wat(t, "ack")}
			var wg sync.WaitGroup
			for n := range 16 {
				wg.Go(func() {
					for round := range 8 {
						if err := cycle(t.Context(), e, modules[(n+round)%2]); err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			if len(e.code) != 0 {
				t.Errorf("%d compiled modules are left", len(e.code))
			}
		})
	}
}

// cycle loads, runs and closes, as a reload does.
func cycle(ctx context.Context, e *Engine, wasm []byte) error {
	m, err := e.LoadBytes(ctx, "m", wasm, Limits{})
	if err != nil {
		return err
	}
	i, err := m.NewInstance(ctx, Settings{})
	if err != nil {
		return err
	}
	r := i.Handle(ctx, face("0"))
	if err := m.Close(ctx); err != nil {
		return err
	}
	if again := i.Handle(ctx, face("0")); r.Code != abi.Ack || r.Failure != None || again.Failure != None {
		return fmt.Errorf("%+v, %+v", r, again)
	}
	return i.Close(ctx)
}

// Reloads leaked runtimes, and bursts instances (traefik#11119, traefik#13235).
func TestCase34_ReloadsAndInstancesLeaveNothing(t *testing.T) {
	e := newEngine(t, Options{})
	wasm := wat(t, "faces")
	before := heap()
	for range 500 {
		if err := cycle(t.Context(), e, wasm); err != nil {
			t.Fatal(err)
		}
	}
	m := load(t, e, "faces", wasm, Limits{})
	for range 2000 {
		i, err := m.NewInstance(t.Context(), Settings{})
		if err != nil {
			t.Fatal(err)
		}
		// Discarded instances must leave as little as healthy ones.
		if r := i.Handle(t.Context(), face("t")); r.Failure != Trap {
			t.Fatalf("%+v", r)
		}
		if err := i.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	const room = 16 << 20 // 2,500 instances of 128 KiB are 320 MiB
	if after := heap(); after > before+room {
		t.Errorf("the heap grew from %d to %d bytes", before, after)
	}
}

// heap is what is left after the finalizers of two collections.
func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// All of the callers of one failing compilation are told, each with its own path.
func TestParallelLoadsOfABrokenModule(t *testing.T) {
	e := newEngine(t, Options{})
	wasm := bytes.Clone(wat(t, "ack"))
	wasm[bytes.LastIndex(wasm, []byte{0x41, 0x00, 0x0b})] = 0x42
	var wg sync.WaitGroup
	for n := range 8 {
		wg.Go(func() {
			path := fmt.Sprintf("h%d", n)
			_, err := e.LoadBytes(t.Context(), path, wasm, Limits{})
			if err == nil || !strings.HasPrefix(err.Error(), "module "+path+" is not a valid") {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if len(e.code) != 0 {
		t.Errorf("%d compiled modules are left", len(e.code))
	}
}
