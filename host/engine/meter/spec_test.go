package meter_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/inbox-wasm/inbox-wasm/host/engine/meter"
)

// features are what the suites need: WebAssembly 2.0 and the proposals that the rewriting knows.
const features = api.CoreFeaturesV2 | experimental.CoreFeaturesTailCall | experimental.CoreFeaturesExtendedConst

// suites is where wazero's module keeps WebAssembly's own test suite, compiled.
func suites(t testing.TB) string {
	t.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/tetratelabs/wazero").Output()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(strings.TrimSpace(string(dir)), "internal", "integration_test", "spectest")
}

// command is a line of a suite.
type command struct {
	Type       string
	Line       int
	Name       string
	As         string
	Filename   string
	ModuleType string `json:"module_type"`
	Action     struct {
		Type   string
		Module string
		Field  string
		Args   []value
	}
}

type value struct {
	Type     string
	LaneType string `json:"lane_type"`
	Value    json.RawMessage
}

// TestSpecificationsOwnSuite runs the suite on the original modules and beside it on the rewritten ones, and
// wants the same of both: the results to the bit, the traps, and what is refused.
func TestSpecificationsOwnSuite(t *testing.T) {
	root := suites(t)
	for _, suite := range []string{"v1", "v2", "tail-call", "extended-const"} {
		files, err := filepath.Glob(filepath.Join(root, suite, "testdata", "*.json"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s has %d files: %v", suite, len(files), err)
		}
		for _, file := range files {
			t.Run(suite+"/"+strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
				t.Parallel()
				runSuite(t, root, file)
			})
		}
	}
}

func runSuite(t *testing.T, root, file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var suite struct{ Commands []command }
	if err := json.Unmarshal(text, &suite); err != nil {
		t.Fatal(err)
	}
	spectest, err := os.ReadFile(filepath.Join(root, "testdata", "spectest.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	plain, metered := newWorld(t, false), newWorld(t, true)
	for _, w := range []*world{plain, metered} {
		if err := w.load(spectest, "", "spectest"); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range suite.Commands {
		if c.ModuleType == "text" {
			continue
		}
		var got [2]string
		for i, w := range []*world{plain, metered} {
			got[i] = w.do(t, filepath.Dir(file), &c)
		}
		if got[0] != got[1] {
			t.Errorf("line %d, %s %s: the original: %s, the rewritten: %s", c.Line, c.Type, c.Action.Field, got[0], got[1])
		}
	}
}

// world is a store of modules, rewritten or not.
type world struct {
	metered bool
	ctx     context.Context
	runtime wazero.Runtime
	named   map[string]api.Module // by the suite's names; the last one is ""
	known   map[string]api.Module // by the names under which they were registered
}

func newWorld(t *testing.T, metered bool) *world {
	w := &world{metered: metered, named: map[string]api.Module{}, known: map[string]api.Module{}}
	w.ctx = experimental.WithImportResolver(context.Background(), func(name string) api.Module { return w.known[name] })
	w.runtime = wazero.NewRuntimeWithConfig(w.ctx, wazero.NewRuntimeConfig().WithCoreFeatures(features))
	t.Cleanup(func() {
		if err := w.runtime.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	_, err := w.runtime.NewHostModuleBuilder(meter.Module).
		NewFunctionBuilder().WithFunc(func() {}).Export(meter.Spent).
		NewFunctionBuilder().WithFunc(func() { panic("too deep") }).Export(meter.Deep).Instantiate(w.ctx)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// load compiles and instantiates a module under the suite's name, and one that others import by.
func (w *world) load(wasm []byte, name, as string) error {
	compiled, err := w.compile(wasm)
	if err != nil {
		return err
	}
	m, err := w.runtime.InstantiateModule(w.ctx, compiled, wazero.NewModuleConfig().WithName("").WithStartFunctions())
	if err != nil {
		return err
	}
	w.named[""] = m
	if name != "" {
		w.named[name] = m
	}
	if as != "" {
		w.known[as] = m
	}
	return nil
}

func (w *world) compile(wasm []byte) (wazero.CompiledModule, error) {
	if !w.metered {
		return w.runtime.CompileModule(w.ctx, wasm)
	}
	// What is not valid is refused before it is rewritten, and what is must be so afterwards.
	if _, err := w.runtime.CompileModule(w.ctx, wasm); err != nil {
		return nil, err
	}
	rewritten, err := meter.Rewrite(wasm)
	if err != nil {
		return nil, fmt.Errorf("NOT REWRITTEN: %w", err)
	}
	compiled, err := w.runtime.CompileModule(w.ctx, rewritten)
	if err != nil {
		return nil, fmt.Errorf("NOT VALID ANY MORE: %w", err)
	}
	return compiled, nil
}

// do runs a command and says what came of it.
func (w *world) do(t *testing.T, dir string, c *command) string {
	switch c.Type {
	case "register":
		w.known[c.As] = w.named[c.Name]
		return ""
	case "module", "assert_invalid", "assert_malformed", "assert_unlinkable", "assert_uninstantiable":
		wasm, err := os.ReadFile(filepath.Join(dir, c.Filename))
		if err != nil {
			t.Fatal(err)
		}
		last := w.named[""]
		err = w.load(wasm, c.Name, "")
		if c.Type != "module" {
			w.named[""] = last
		}
		return said(err)
	case "action", "assert_return", "assert_trap", "assert_exhaustion":
		return w.act(t, c)
	}
	t.Fatalf("line %d: unknown command %s", c.Line, c.Type)
	return ""
}

func (w *world) act(t *testing.T, c *command) string {
	m := w.named[c.Action.Module]
	if m == nil {
		return "no such module"
	}
	if c.Action.Type == "get" {
		return fmt.Sprint(m.ExportedGlobal(c.Action.Field).Get())
	}
	var args []uint64
	for _, a := range c.Action.Args {
		args = append(args, a.words(t)...)
	}
	f := m.ExportedFunction(c.Action.Field)
	if f == nil {
		return "no such function"
	}
	results, err := f.Call(w.ctx, args...)
	if err != nil {
		if room := m.ExportedGlobal(meter.Room); room != nil {
			room.(api.MutableGlobal).Set(meter.Depth) // the suite goes on with an instance that has trapped
		}
		return said(err)
	}
	if refers := slices.ContainsFunc(f.Definition().ResultTypes(), func(v api.ValueType) bool { return v == 0x70 }); refers {
		// An address in this process.
		for i := range results {
			results[i] = min(results[i], 1)
		}
	}
	return fmt.Sprint(results)
}

// said is an error without what differs by design: where in the code it came about.
func said(err error) string {
	if err == nil {
		return "fine"
	}
	first, _, _ := strings.Cut(err.Error(), "\n")
	if strings.HasPrefix(first, "too deep") || strings.Contains(first, "stack overflow") {
		return "too deep"
	}
	return startFunction.ReplaceAllString(first, "start function")
}

var startFunction = regexp.MustCompile(`start function\[\d+\]`)

// words are a value as wazero takes it.
func (v *value) words(t *testing.T) []uint64 {
	if v.Type == "v128" {
		var lanes []string
		if err := json.Unmarshal(v.Value, &lanes); err != nil {
			t.Fatal(err)
		}
		words := []uint64{0, 0}
		width := 128 / len(lanes)
		for i, lane := range lanes {
			words[i*width/64] |= number(t, lane, width) << (i * width % 64)
		}
		return words
	}
	var text string
	if err := json.Unmarshal(v.Value, &text); err != nil {
		t.Fatal(err)
	}
	width := 64
	if v.Type == "i32" || v.Type == "f32" {
		width = 32
	}
	return []uint64{number(t, text, width)}
}

func number(t *testing.T, text string, width int) uint64 {
	switch text {
	case "null":
		return 0
	case "nan:canonical", "nan:arithmetic":
		if width == 32 {
			return 0x7fc00000
		}
		return 0x7ff8000000000000
	}
	if n, err := strconv.ParseUint(text, 10, 64); err == nil {
		return n
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatalf("the number %q", text)
	}
	return uint64(n) & (1<<width - 1)
}
