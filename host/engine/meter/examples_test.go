package meter_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/inbox-wasm/inbox-wasm/abi"
	"github.com/inbox-wasm/inbox-wasm/examples/wasm/webhook/events/generator"
	"github.com/inbox-wasm/inbox-wasm/host/engine/meter"
	"github.com/inbox-wasm/inbox-wasm/internal/testwasm"
)

// exampleEvents are the messages of each example, by its folder.
var exampleEvents = map[string]func() []event{
	"webhook/go": func() []event {
		var events []event
		for e := range generator.Events(generator.Options{Count: 1000, Seed: 7, Secret: "s"}) {
			events = append(events, event{Payload: string(e.Payload), Headers: e.Headers})
		}
		return events
	},
	"accounts/go": func() []event {
		none, one := `{"columns":[],"rows":[],"affected":1}`, `{"columns":["1"],"rows":[[1]],"affected":0}`
		var events []event
		for i := range 300 {
			events = append(events, event{Payload: fmt.Sprintf(`{"email":"%d@example.com","name":"a \"name\""}`, i), result: []string{none, one}[i%2]},
				event{Payload: `{"email":""}`}, event{Payload: "no JSON"})
		}
		return events
	},
	"mails/go": func() []event {
		var events []event
		for i := range 300 {
			status := []int{200, 201, 422, 429, 503}[i%5]
			events = append(events, event{Payload: fmt.Sprintf("mail %d", i), result: fmt.Sprintf(`{"status":%d,"headers":{"retry-after":"%d"},"body":"why"}`, status, i)})
		}
		return events
	},
}

// event is one message, with a header for each name.
type event struct {
	Payload string
	Headers map[string]string
	result  string // of db and http
}

// Every example does the same before and after it is rewritten: the same calls of the host with the same bytes, and the
// same outcomes.
func TestExamplesBehaveAlike(t *testing.T) {
	folders, err := filepath.Glob("../../../examples/wasm/*/go/main.go")
	if err != nil || len(folders) == 0 {
		t.Fatalf("%d examples: %v", len(folders), err)
	}
	for _, main := range folders {
		folder := filepath.Dir(main)
		name := filepath.Base(filepath.Dir(folder)) + "/" + filepath.Base(folder)
		t.Run(name, func(t *testing.T) {
			events := exampleEvents[name]
			if events == nil {
				t.Fatal("this example has no messages here")
			}
			original, err := os.ReadFile(testwasm.Go(t, folder))
			if err != nil {
				t.Fatal(err)
			}
			rewritten, err := meter.Rewrite(original)
			if err != nil {
				t.Fatal(err)
			}
			list := events()
			before, after := behave(t, original, list), behave(t, rewritten, list)
			outcomes := map[uint64]int{}
			for i := range list {
				outcomes[before[i].code]++
				if before[i] != after[i] {
					t.Fatalf("message %d: %+v before and %+v after", i, before[i], after[i])
				}
			}
			if len(outcomes) < 2 {
				t.Errorf("%d messages came to %v", len(list), outcomes)
			}
		})
	}
}

// behaviour is what a module does with a message: its outcome, and a hash of what it has told the host.
type behaviour struct{ code, told uint64 }

// behave has a module handle messages in a world whose clocks and randomness repeat themselves.
func behave(t *testing.T, wasm []byte, events []event) []behaviour {
	t.Helper()
	ctx := t.Context()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithCoreFeatures(features))
	defer r.Close(ctx)
	wasi_snapshot_preview1.MustInstantiate(ctx, r)
	host := r.NewHostModuleBuilder(meter.Module)
	for _, name := range []string{meter.Spent, meter.Deep} {
		host.NewFunctionBuilder().WithGoFunction(api.GoFunc(func(context.Context, []uint64) {}), nil, nil).Export(name)
	}
	if _, err := host.Instantiate(ctx); err != nil {
		t.Fatal(err)
	}
	told := fnv.New64a()
	var current event
	inbox := r.NewHostModuleBuilder("inbox_v1")
	for _, f := range abi.Functions() {
		var params []api.ValueType
		for _, p := range f.Params {
			params = append(params, valueType(p.Type))
		}
		inbox.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(func(_ context.Context, m api.Module, stack []uint64) {
			stack[0] = answer(told, m, f, stack, &current)
		}), params, []api.ValueType{valueType(f.Result)}).Export(f.Name)
	}
	if _, err := inbox.Instantiate(ctx); err != nil {
		t.Fatal(err)
	}
	guest, err := r.InstantiateWithConfig(ctx, wasm, wazero.NewModuleConfig().WithStartFunctions("_initialize"))
	if err != nil {
		t.Fatal(err)
	}
	if init := guest.ExportedFunction("inbox_init"); init != nil {
		if code, err := init.Call(ctx); err != nil || code[0] != 0 {
			t.Fatal(code, err)
		}
	}
	list := make([]behaviour, len(events))
	for i, e := range events {
		current = e
		told.Reset()
		code, err := guest.ExportedFunction("inbox_handle").Call(ctx)
		if err != nil {
			t.Fatal(err)
		}
		list[i] = behaviour{code[0], told.Sum64()}
	}
	return list
}

func valueType(t abi.ValueType) api.ValueType {
	if t == abi.I64 {
		return api.ValueTypeI64
	}
	return api.ValueTypeI32
}

// answer notes a call with every number and text in it, and gives what the host would have.
func answer(told interface{ Write([]byte) (int, error) }, m api.Module, f abi.Function, stack []uint64, e *event) uint64 {
	note := func(b []byte) { _, _ = told.Write(b) } // a hash takes everything
	note([]byte(f.Name))
	var texts []string
	for i, p := range f.Params {
		if i+1 < len(f.Params) && (f.Params[i+1].Name == p.Name+"_len" || f.Params[i+1].Name == "len") {
			text, _ := m.Memory().Read(uint32(stack[i]), uint32(stack[i+1]))
			note(text)
			texts = append(texts, string(text))
		}
		if p.Name == "buf" {
			var value string
			found := true
			switch f.Name {
			case "payload":
				value = e.Payload
			case "header":
				value, found = e.Headers[texts[0]]
			case "config":
				value, found = "s", texts[0] != "not_ready" && texts[0] != "retry_delay"
			case "meta":
				value = `{"table":"jobs","id":7,"attempt":1}`
			case "result":
				value = e.result
			}
			if !found {
				return api.EncodeI32(int32(abi.Absent))
			}
			if len(value) <= int(uint32(stack[i+1])) {
				m.Memory().WriteString(uint32(stack[i]), value)
			}
			return uint64(len(value))
		}
		if p.Type == abi.I64 {
			note(binary.LittleEndian.AppendUint64(nil, stack[i]))
		}
	}
	switch f.Name {
	case "attempt", "log_enabled":
		return 1
	case "deadline_ms", "now_ms":
		return 1000
	case "db", "http":
		return uint64(len(e.result))
	}
	return 0
}
