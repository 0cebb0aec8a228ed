package engine

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/inbox-wasm/inbox-wasm/internal/testwasm"
)

// signed is a module with the section in which a compiler says who it is.
func signed(t *testing.T, text, producer string) []byte {
	t.Helper()
	section := "\x09producers" + "\x01\x0cprocessed-by\x01" + string(rune(len(producer))) + producer + "\x011"
	return append(append([]byte(nil), testwasm.WAT(t, text)...), append([]byte{0, byte(len(section))}, section...)...)
}

// What is wrong with a module is said in the terms of what it was built with.
func TestRefusalsKnowTheToolchain(t *testing.T) {
	const program = `(module (import "inbox_v1" "attempt" (func (result i32))) (memory (export "memory") 1) (func (export "_start")))`
	const library = `(module (memory (export "memory") 1) (func (export "add") (result i32) (i32.const 0)))`
	const both = `(module (memory (export "memory") 1) (func (export "_start")) (func (export "inbox_handle") (result i32) (i32.const 0)))`
	for _, c := range []struct{ producer, wat, want string }{
		{"Go cmd/compile", both, "GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared"},
		{"Go cmd/compile", program, "GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared"},
		{"Go cmd/compile", library, "call inbox.Handle in an init function"},
		{"TinyGo", program, "tinygo build -target=wasip1 -buildmode=c-shared"},
		{"rustc", program, `write crate-type = ["cdylib"] under [lib]`},
		{"rustc", library, "inbox::handler!(handle)"},
		{"Debian clang", program, "-mexec-model=reactor"},
		{"Debian clang", library, "INBOX_HANDLER(handle)"},
		{"clang", `(module (import "env" "emscripten_resize_heap" (func (param i32) (result i32))) (memory (export "memory") 1))`, "emcc -sSTANDALONE_WASM"},
		{"clang", `(module (import "env" "invoke_vi" (func (param i32 i32))) (memory (export "memory") 1))`, "emcc -sSTANDALONE_WASM"},
		{"nobody", `(module (import "env" "abort" (func (param i32 i32 i32 i32))) (memory (export "memory") 1))`, `export { inbox_handle } from "inbox-wasm/single"`},
		{"nobody", library, "export a function inbox_handle () -> i32"},
		{"nobody", program, "build a reactor: in Go with"},
	} {
		_, err := newEngine(t, Options{}).LoadBytes(t.Context(), "handler", signed(t, c.wat, c.producer), Limits{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.producer, err, c.want)
		}
	}
}

// The compilers that are here sign as they are known.
func TestToolchainsAreKnown(t *testing.T) {
	program := filepath.Join(t.TempDir(), "program.wasm")
	cmd := exec.Command("go", "build", "-o", program, "./testdata/gocommand")
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	conformance := filepath.Join("..", "..", "guest-sdk", "conformance")
	for path, want := range map[string]toolchain{
		program: goToolchain,
		testwasm.C(t, filepath.Join(conformance, "c", "handler.c")):                            cToolchain,
		testwasm.Rust(t, filepath.Join(conformance, "rust")):                                   rustToolchain,
		testwasm.AssemblyScript(t, filepath.Join(conformance, "assemblyscript", "handler.ts")): assemblyScriptToolchain,
	} {
		wasm, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		p, err := parse(wasm)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.toolchain(); got != want {
			t.Errorf("%s is taken for %d, and is %d; it says %q", path, got, want, p.producers)
		}
	}
}
