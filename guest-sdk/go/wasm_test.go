package inbox_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/inbox-wasm/inbox-wasm/abi"
	"github.com/inbox-wasm/inbox-wasm/host/engine"
	"github.com/inbox-wasm/inbox-wasm/internal/testwasm"
)

// declarations reads what the handler under testdata imports and exports.
func declarations(t *testing.T, handler string) wazero.CompiledModule {
	t.Helper()
	code, err := os.ReadFile(testwasm.Go(t, "testdata/"+handler))
	if err != nil {
		t.Fatal(err)
	}
	// The interpreter has little to compile, and nothing is run.
	runtime := wazero.NewRuntimeWithConfig(t.Context(), wazero.NewRuntimeConfigInterpreter())
	t.Cleanup(func() { runtime.Close(context.Background()) })
	module, err := runtime.CompileModule(t.Context(), code)
	if err != nil {
		t.Fatal(err)
	}
	return module
}

// imports are the host functions that a module imports, with their signatures.
func imports(module wazero.CompiledModule) map[string]string {
	found := map[string]string{}
	for _, function := range module.ImportedFunctions() {
		if from, name, _ := function.Import(); from == abi.Module {
			found[name] = signature(names(function.ParamTypes()), names(function.ResultTypes()))
		}
	}
	return found
}

func names(types []api.ValueType) []string {
	var names []string
	for _, t := range types {
		names = append(names, api.ValueTypeName(t))
	}
	return names
}

func signature(params, results []string) string {
	return strings.Join(params, " ") + " -> " + strings.Join(results, " ")
}

// A handler is refused when it imports what it may not use, so what the SDK imports
// for it matters.
func TestMinimalHandlerImportsOnlyWhatSettles(t *testing.T) {
	module := declarations(t, "minimal")
	if got := slices.Sorted(maps.Keys(imports(module))); !slices.Equal(got, []string{"reason", "retry_after"}) {
		t.Errorf("it imports %v", got)
	}
	for _, export := range []string{abi.ExportHandle, abi.ExportInit, abi.ExportInitialize} {
		if module.ExportedFunctions()[export] == nil {
			t.Errorf("it does not export %s", export)
		}
	}
}

func TestImportsAreTheContracts(t *testing.T) {
	want := map[string]string{}
	for _, function := range abi.Functions() {
		if function.Mode != abi.Always {
			continue
		}
		var params []string
		for _, param := range function.Params {
			params = append(params, string(param.Type))
		}
		want[function.Name] = signature(params, []string{string(function.Result)})
	}
	if got := imports(declarations(t, "everything")); !maps.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

// load compiles the handler that uses everything, for the real host.
func load(t *testing.T) *engine.Module {
	t.Helper()
	runtime, err := engine.New(t.Context(), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { runtime.Close(context.Background()) })
	module, err := runtime.Load(t.Context(), testwasm.Go(t, "testdata/everything"), engine.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { module.Close(context.Background()) })
	return module
}

func TestOnTheRealHost(t *testing.T) {
	module := load(t)
	var log bytes.Buffer
	instantiate := func(t *testing.T) *engine.Instance {
		t.Helper()
		instance, err := module.NewInstance(t.Context(), engine.Settings{
			Config: map[string]string{"greeting": "hello"},
			Log:    slog.New(slog.NewTextHandler(&log, nil)),
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { instance.Close(context.Background()) })
		return instance
	}
	instance := instantiate(t)

	for _, test := range []struct {
		payload string
		code    abi.Code
		reason  string
		delay   time.Duration
	}{
		{"ack", abi.Ack, "", 0},
		{"error", abi.RetryAfter, "an error", 0},
		{"retry", abi.Retry, "why", 0},
		{"retry_after", abi.RetryAfter, "why", 90 * time.Second},
		{"snooze", abi.Snooze, "why", 90 * time.Second},
		{"drop", abi.Drop, "why", 0},
	} {
		got := instance.Handle(t.Context(), &engine.Message{Payload: []byte(test.payload)})
		if got.Failure != engine.None || got.Code != test.code || got.Reason != test.reason || got.Delay != test.delay || got.HasDelay != (test.delay > 0) {
			t.Errorf("%s: %+v", test.payload, got)
		}
	}

	t.Run("reads", func(t *testing.T) {
		payload := strings.Repeat("größer ", 100)
		got := instance.Handle(t.Context(), &engine.Message{
			Subscription: "s", Table: "t", Group: "g", ID: []byte(`9007199254740993`), Attempt: 2, MaxAttempts: 5,
			PartitionKey: "k", HasPartitionKey: true, Headers: []byte(`{"kind":"a b","number":1.50}`),
			Payload: []byte(payload), Timeout: time.Minute,
		})
		if got.Code != abi.DeadLetter {
			t.Fatalf("%+v", got)
		}
		var report map[string]any
		if err := json.Unmarshal([]byte(got.Reason), &report); err != nil {
			t.Fatal(err)
		}
		want := map[string]any{
			"greeting": "hello", "payload": payload, "header": "a b", "number": "1.50", "absent": false,
			"attempt": 2.0, "hurried": true, "random": true, "clocks": true, "traceable": false,
			"meta": map[string]any{
				"Subscription": "s", "Table": "t", "Group": "g", "ID": "9007199254740993", "Attempt": 2.0, "MaxAttempts": 5.0,
				"PartitionKey": "k", "Headers": map[string]any{"kind": "a b", "number": "1.50"},
			},
		}
		if !reflect.DeepEqual(report, want) {
			t.Errorf("got  %v\nwant %v", report, want)
		}
	})

	t.Run("logs", func(t *testing.T) {
		log.Reset()
		instance.Handle(t.Context(), &engine.Message{Payload: []byte("log")})
		if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "level=WARN") || !strings.Contains(got, `two words`) {
			t.Errorf("the log is %q", got)
		}
	})

	t.Run("init refuses", func(t *testing.T) {
		instance, err := module.NewInstance(t.Context(), engine.Settings{})
		if err == nil {
			instance.Close(t.Context())
			t.Fatal("an instance without its setting came to be")
		}
		var refused *engine.InitError
		if !errors.As(err, &refused) || refused.Step != abi.ExportInit || !strings.Contains(refused.Reason, "no greeting") {
			t.Errorf("got %v", err)
		}
	})

	for payload, reason := range map[string]string{
		"panic": "panic: broken",
		"nil":   "panic: runtime error: invalid memory address or nil pointer dereference",
	} {
		t.Run(payload, func(t *testing.T) {
			got := instantiate(t).Handle(t.Context(), &engine.Message{Payload: []byte(payload)})
			if got.Failure == engine.None || got.Reusable || !strings.Contains(got.Reason, reason) {
				t.Errorf("%+v", got)
			}
			if !strings.Contains(log.String(), "goroutine") {
				t.Error("the stack is not in the log")
			}
		})
	}
}
