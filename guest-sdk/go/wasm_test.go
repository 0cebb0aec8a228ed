package inbox_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/inbox-wasm/inbox-wasm/abi"
)

// compile builds a handler under testdata and returns it without running it.
func compile(t *testing.T, name string) wazero.CompiledModule {
	t.Helper()
	file := filepath.Join(t.TempDir(), name+".wasm")
	build := exec.Command("go", "build", "-buildmode=c-shared", "-o", file, "./testdata/"+name)
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	code, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	// The interpreter has nothing to compile: only the declarations are looked at.
	runtime := wazero.NewRuntimeWithConfig(t.Context(), wazero.NewRuntimeConfigInterpreter())
	t.Cleanup(func() { runtime.Close(t.Context()) })
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
			found[name] = signature(function.ParamTypes(), function.ResultTypes())
		}
	}
	return found
}

func signature(params, results []api.ValueType) string {
	text := ""
	for _, param := range params {
		text += api.ValueTypeName(param) + " "
	}
	text += "->"
	for _, result := range results {
		text += " " + api.ValueTypeName(result)
	}
	return text
}

// A handler is refused when it imports what it may not use, so what the SDK imports
// for it matters.
func TestMinimalHandlerImportsOnlyWhatSettles(t *testing.T) {
	module := compile(t, "minimal")
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
	got := imports(compile(t, "everything"))
	want := map[string]string{}
	for _, function := range abi.Functions() {
		if function.Mode != abi.Always {
			continue
		}
		text := ""
		for _, param := range function.Params {
			text += string(param.Type) + " "
		}
		want[function.Name] = text + "-> " + string(function.Result)
	}
	if !maps.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}
