package engine

import (
	"slices"
	"strings"
)

// toolchain is what a module was built with, as far as it says.
type toolchain uint8

const (
	unknownToolchain toolchain = iota
	goToolchain
	tinyGoToolchain
	rustToolchain
	cToolchain
	emscriptenToolchain
	assemblyScriptToolchain
)

// toolchain goes by the section that compilers sign (WebAssembly tool conventions, "Producers Section"), and by what
// only one of them imports.
func (p *parsed) toolchain() toolchain {
	for _, sign := range []struct {
		text string
		by   toolchain
	}{{"TinyGo", tinyGoToolchain}, {"Go cmd/compile", goToolchain}, {"rustc", rustToolchain}, {"emscripten", emscriptenToolchain}} {
		if strings.Contains(p.producers, sign.text) {
			return sign.by
		}
	}
	switch {
	case slices.ContainsFunc(p.imports, isEmscripten):
		return emscriptenToolchain
	case slices.ContainsFunc(p.imports, p.isAbort):
		return assemblyScriptToolchain
	case strings.Contains(p.producers, "clang"):
		return cToolchain
	}
	return unknownToolchain
}

// isEmscripten knows the functions of Emscripten's JavaScript.
func isEmscripten(i moduleImport) bool {
	return i.module == "env" && (strings.Contains(i.name, "emscripten") || strings.HasPrefix(i.name, "invoke_") || strings.HasPrefix(i.name, "__syscall_") ||
		strings.HasPrefix(i.name, "__cxa_") || i.name == "_abort_js")
}

// reactorRemedy says how a program becomes a module whose handler can be called.
func (p *parsed) reactorRemedy() string {
	switch p.toolchain() {
	case goToolchain:
		return "build it as a reactor: GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared"
	case tinyGoToolchain:
		return "build it as a reactor: tinygo build -target=wasip1 -buildmode=c-shared"
	case rustToolchain:
		return `build a library instead of a program: move src/main.rs to src/lib.rs, and write crate-type = ["cdylib"] under [lib] in Cargo.toml`
	case emscriptenToolchain:
		return "build it as a reactor: emcc -sSTANDALONE_WASM --no-entry"
	case cToolchain:
		return "build it as a reactor: with -mexec-model=reactor, or with -nostdlib -Wl,--no-entry"
	}
	return "build a reactor: in Go with -buildmode=c-shared, in C with -mexec-model=reactor, in Rust as a cdylib, in Zig with entry = .disabled"
}

// handlerRemedy says how a module gets the export that it lacks.
func (p *parsed) handlerRemedy() string {
	switch p.toolchain() {
	case goToolchain, tinyGoToolchain:
		return "import the SDK and call inbox.Handle in an init function, and build it with -buildmode=c-shared"
	case rustToolchain:
		return `write inbox::handler!(handle), and crate-type = ["cdylib"] under [lib] in Cargo.toml`
	case cToolchain:
		return "write INBOX_HANDLER(handle) at file scope, with inbox.h included"
	case emscriptenToolchain:
		return "write INBOX_HANDLER(handle) at file scope, with inbox.h included, and build with -sSTANDALONE_WASM --no-entry"
	case assemblyScriptToolchain:
		return `write export { inbox_handle } from "inbox-wasm/single" in the file that is compiled`
	}
	return ""
}
