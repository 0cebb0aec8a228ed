package meter_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/inbox-wasm/inbox-wasm/host/engine/meter"
	"github.com/inbox-wasm/inbox-wasm/internal/testwasm"
)

// A copy, fill or init that is done in pieces leaves the memory as one that is not.
func TestLargeCopiesFillsAndInits(t *testing.T) {
	wasm := testwasm.WAT(t, `(module (memory (export "memory") 16) (data "`+strings.Repeat("0123456789abcdef", 200_000/16)+`")
		(func (export "init") (param i32 i32 i32) (memory.init 0 (local.get 0) (local.get 1) (local.get 2)))
		(func (export "copy") (param i32 i32 i32) (memory.copy (local.get 0) (local.get 1) (local.get 2)))
		(func (export "fill") (param i32 i32 i32) (memory.fill (local.get 0) (local.get 1) (local.get 2))))`)
	var modules [2]api.Module
	for i, w := range []*world{newWorld(t, false), newWorld(t, true)} {
		if err := w.load(wasm, "", ""); err != nil {
			t.Fatal(err)
		}
		modules[i] = w.named[""]
	}
	const size = 16 << 16
	random := rand.New(rand.NewPCG(1, 2))
	sizes := []uint64{0, 1, 65535, 65536, 65537, 131072, 131073, 200_000, size, size + 1, 1 << 31, 1<<32 - 1}
	number := func() uint64 {
		switch random.IntN(3) {
		case 0:
			return sizes[random.IntN(len(sizes))]
		case 1:
			return uint64(random.IntN(size))
		default:
			return uint64(random.IntN(1000))
		}
	}
	for n := range 3000 {
		name, args := "copy", []uint64{number(), number(), number()}
		switch random.IntN(4) {
		case 0:
			name, args[1] = "fill", uint64(n%256)
		case 1:
			name = "init"
		}
		var said [2]string
		for i, m := range modules {
			_, err := m.ExportedFunction(name).Call(context.Background(), args...)
			if err != nil {
				said[i], _, _ = strings.Cut(err.Error(), "\n")
				if room := m.ExportedGlobal(meter.Room); room != nil {
					room.(api.MutableGlobal).Set(meter.Depth)
				}
			}
		}
		if said[0] != said[1] {
			t.Fatalf("%s %v: %q, and rewritten %q", name, args, said[0], said[1])
		}
		plain, _ := modules[0].Memory().Read(0, size)
		metered, _ := modules[1].Memory().Read(0, size)
		if !bytes.Equal(plain, metered) {
			t.Fatalf("%s %v leaves another memory", name, args)
		}
		if n%50 == 0 { // something to move
			for i := range 4 * uint32(size/64) {
				at := i * 16
				for _, m := range modules {
					m.Memory().WriteUint32Le(at, i*2654435761+uint32(n))
				}
			}
		}
	}
}

// A long operation takes no more from the counter than filling it up gives back: it would wrap around at last, and
// not ask again for seconds.
func TestLongTableOperationsKeepAsking(t *testing.T) {
	wasm := testwasm.WAT(t, `(module (table 4000000 externref)
		(func (export "long") (table.fill 0 (i32.const 0) (ref.null extern) (i32.const 4000000))))`)
	w := newWorld(t, true)
	if err := w.load(wasm, "", ""); err != nil {
		t.Fatal(err)
	}
	m := w.named[""]
	counter := m.ExportedGlobal(meter.Counter).(api.MutableGlobal)
	for range 3 {
		if _, err := m.ExportedFunction("long").Call(w.ctx); err != nil {
			t.Fatal(err)
		}
		if left := int32(uint32(counter.Get())); left < 0 || left > meter.Interval {
			t.Fatalf("the counter is at %d", left)
		}
	}
}

func TestNamesOfTheMeterAreTaken(t *testing.T) {
	for _, source := range []string{
		`(module (import "inbox_meter" "spent" (func)))`,
		`(module (import "inbox_meter" "mine" (global i32)))`,
		`(module (func (export "inbox_meter.counter")))`,
		`(module (global (export "inbox_meter.room") (mut i32) (i32.const 0)))`,
	} {
		if _, err := meter.Rewrite(testwasm.WAT(t, source)); !errors.Is(err, meter.ErrTaken) {
			t.Errorf("%s: %v", source, err)
		}
	}
}

// A module that names by index what only the rewriting adds is not made valid by it.
func TestIndicesOfWhatIsAddedAreRefused(t *testing.T) {
	// Type (), one function of it, and its body.
	module := func(body ...byte) []byte {
		wasm := []byte("\x00asm\x01\x00\x00\x00\x01\x04\x01\x60\x00\x00\x03\x02\x01\x00\x0a")
		code := append([]byte{0}, append(body, 0x0b)...)
		return append(wasm, append([]byte{byte(len(code) + 2), 1, byte(len(code))}, code...)...)
	}
	if _, err := meter.Rewrite(module(0x10, 0)); err != nil {
		t.Fatalf("a call of itself: %v", err)
	}
	for what, body := range map[string][]byte{
		"the counter":       {0x23, 0, 0x1a},
		"the room":          {0x23, 1, 0x1a},
		"the counter, set":  {0x41, 0, 0x24, 0},
		"a function":        {0x10, 1},
		"a function's ref":  {0xd2, 2, 0x1a},
		"a tail call":       {0x12, 1},
		"a local":           {0x20, 0, 0x1a},
		"a type":            {0x41, 0, 0x11, 1, 0},
		"a block's type":    {0x02, 1, 0x0b},
		"memory":            {0x41, 0, 0x41, 0, 0x41, 0, 0xfc, 11, 0},
		"an exception":      {0x06, 0x40, 0x0b},
		"an atomic":         {0xfe, 3, 0},
		"no end":            {0x02, 0x40},
		"one end too many":  {0x0b},
		"half an operation": {0xfc},
	} {
		if _, err := meter.Rewrite(module(body...)); err == nil {
			t.Errorf("%s is taken", what)
		}
	}
}

// FuzzRewrite: never a panic, and what is valid stays so.
func FuzzRewrite(f *testing.F) {
	err := filepath.WalkDir(suites(f), func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".wasm" || !strings.Contains(path, "testdata") {
			return err
		}
		if info, err := d.Info(); err != nil || info.Size() > 2000 {
			return err
		}
		wasm, err := os.ReadFile(path)
		f.Add(wasm)
		return err
	})
	if err != nil {
		f.Fatal(err)
	}
	ctx := context.Background()
	f.Fuzz(func(t *testing.T, wasm []byte) {
		r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
		defer r.Close(ctx)
		rewritten, err := meter.Rewrite(wasm)
		bare, cut := meter.Bare(wasm)
		if cut != nil || impossible(bare) || valid(ctx, r, bare) != nil {
			return
		}
		if errors.Is(err, meter.ErrTaken) || errors.Is(err, meter.ErrUnsupported) {
			return
		}
		if err != nil {
			t.Fatalf("it is valid, and not rewritten: %v", err)
		}
		if err := valid(ctx, r, rewritten); err != nil {
			t.Fatalf("it was valid: %v", err)
		}
	})
}

// impossible reports a section that claims more elements than it has bytes: wazero makes room for them before it
// looks. The engine reads a module itself before it gives it to wazero.
func impossible(wasm []byte) bool {
	for at := 8; at < len(wasm); {
		size, n := binary.Uvarint(wasm[at+1:])
		start := at + 1 + n
		if n <= 0 || size > uint64(len(wasm)-start) {
			return true
		}
		if count, n := binary.Uvarint(wasm[start : start+int(size)]); wasm[at] != 0 && (n <= 0 || count > size) {
			return true
		}
		at = start + int(size)
	}
	return false
}

// valid is wazero's judgement, which may be a panic.
func valid(ctx context.Context, r wazero.Runtime, wasm []byte) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("wazero panicked: %v", p)
		}
	}()
	_, err = r.CompileModule(ctx, wasm)
	return err
}
