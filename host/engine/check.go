package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/inbox-wasm/inbox-wasm/abi"
)

// wasiModule is the one import module besides the contract's own.
const wasiModule = "wasi_snapshot_preview1"

// exports are the functions that the engine calls, where the module has them.
type exports struct {
	initialize, init bool
	command          bool
}

func (p *parsed) exports() exports {
	_, initialize := p.export(abi.ExportInitialize)
	_, init := p.export(abi.ExportInit)
	return exports{initialize: initialize, init: init, command: p.isCommand()}
}

// check refuses a module that could not run here, before anything is compiled. The WASI functions are checked
// by name when WASI is offered, by instantiateWASI.
func check(path string, wasm []byte, limit uint64, allowed []string) (*parsed, error) {
	if err := checkPreamble(path, wasm); err != nil {
		return nil, err
	}
	p, err := parse(wasm)
	if err != nil {
		return nil, &LoadError{Path: path, What: "is not a valid WebAssembly module: " + err.Error(), Remedy: "check that the build finished and the file is whole"}
	}
	for _, step := range []func(string, *parsed) error{checkImports, allowedOnly(allowed), checkEntry, checkMemoryExport, checkTables} {
		if err := step(path, p); err != nil {
			return nil, err
		}
	}
	if least := p.memories[0].min; least > limit/pageSize {
		return nil, &LoadError{Path: path,
			What:   fmt.Sprintf("needs %s of memory to start, and its limit is %s", size(least*pageSize), size(limit)),
			Remedy: "raise the handler's memory, or build the module with a smaller initial memory or stack"}
	}
	return p, nil
}

// memoryLimit in bytes, in whole pages.
func memoryLimit(path string, limit int64) (uint64, error) {
	const most = 65536 * pageSize
	switch {
	case limit == 0:
		return most, nil
	case limit < pageSize:
		return 0, &LoadError{Path: path, What: fmt.Sprintf("has a memory limit of %d bytes, and a page of memory is 64 KiB", limit),
			Remedy: "raise the handler's memory"}
	}
	return min(uint64(limit), most) / pageSize * pageSize, nil
}

func checkImports(path string, p *parsed) error {
	for _, i := range p.imports {
		full := i.module + "." + i.name
		switch {
		case p.isAbort(i):
			continue
		case i.module != abi.Module && i.module != wasiModule:
			return &LoadError{Path: path, What: "imports " + full + ", and this host offers the modules " + abi.Module + " and " + wasiModule,
				Remedy: p.foreignRemedy(i)}
		case i.kind != kindFunc:
			return &LoadError{Path: path, What: fmt.Sprintf("imports %s as a %s, and this host offers functions", full, i.kind),
				Remedy: "build it with a " + i.kind.String() + " of its own"}
		case i.module == wasiModule:
			continue
		}
		f, known := abi.Lookup(i.name)
		if !known {
			return &LoadError{Path: path, What: "imports " + full + ", which this host does not have", Remedy: didYouMean(i.name)}
		}
		typ, ok := p.typeAt(i.typ)
		if !ok {
			return &LoadError{Path: path, What: "imports " + full + " with a type that it does not define"}
		}
		if !sameSignature(f, typ) {
			return &LoadError{Path: path, What: fmt.Sprintf("imports %s as %s, and it is %s", full, typ, f.Signature()),
				Remedy: "declare it as the contract does, or build with the SDK of this version"}
		}
	}
	return nil
}

// allowedOnly refuses what the handler does not allow, before the guest finds out in the middle of its work.
// The function result is harmless by itself.
func allowedOnly(allowed []string) func(string, *parsed) error {
	return func(path string, p *parsed) error {
		for _, i := range p.imports {
			f, _ := abi.Lookup(i.name)
			if i.module != abi.Module || f.Mode != abi.SideEffect || i.name == "result" || slices.Contains(allowed, i.name) {
				continue
			}
			return &LoadError{Path: path, What: "imports " + abi.Module + "." + i.name + ", which its handler does not allow", Remedy: allowRemedy[i.name]}
		}
		return nil
	}
}

// allowRemedy says what to write to allow a function.
var allowRemedy = map[string]string{
	"publish": `write allow = { publish = ["TABLE"] } in the handler's section, or build the handler without it`,
	"http":    `write allow = { http = ["https://host"] } in the handler's section, or build the handler without it`,
	"db": `write allow = { db = "pool" } in the handler's section, or transactional = true and allow = { db = "tx" }, or build the ` +
		`handler without it`,
}

// foreignRemedy knows the import modules that common toolchains leave behind.
func (p *parsed) foreignRemedy(i moduleImport) string {
	switch {
	case isEmscripten(i):
		return "build it with emcc -sSTANDALONE_WASM, so that it needs WASI and no JavaScript"
	case i.kind == kindMemory:
		return "build it with a memory of its own, without --import-memory"
	case i.module == "wasi_unstable":
		return "build it for WASI preview 1, whose module is " + wasiModule
	case strings.HasPrefix(i.module, "wasi:"):
		return "build it for WASI preview 1 instead of preview 2"
	case i.module == "gojs":
		return "build it with GOOS=wasip1 instead of GOOS=js"
	case strings.HasPrefix(i.module, "__wbindgen") || i.module == "wbg":
		return "build it without wasm-bindgen: there is no JavaScript here"
	case strings.HasPrefix(i.module, "inbox_v"):
		return "build it with an SDK of contract version " + fmt.Sprint(abi.Version)
	case i.module == "env":
		return "define " + i.name + " in the module, or declare it with the import module " + abi.Module + ": linkers put undefined symbols into env"
	}
	return "build it without that import"
}

func sameSignature(f abi.Function, t funcType) bool {
	return slices.EqualFunc(f.Params, t.params, func(p abi.Param, v abi.ValueType) bool { return p.Type == v }) &&
		slices.Equal([]abi.ValueType{f.Result}, t.results)
}

// checkEntry wants inbox_handle or inbox_handle_batch, and every function that is called as it is meant to be.
func checkEntry(path string, p *parsed) error {
	_, single := p.export(abi.ExportHandle)
	if _, batch := p.export(abi.ExportHandleBatch); !single && !batch {
		if p.isCommand() {
			return checkCommand(path, p)
		}
		return missingHandle(path, p)
	}
	_, start := p.export(abi.ExportStart)
	if _, initialize := p.export(abi.ExportInitialize); start && !initialize {
		return &LoadError{Path: path, What: "is a command that also exports a handler: it has _start and no _initialize, so that nothing would set it up",
			Remedy: p.reactorRemedy()}
	}
	i32 := []abi.ValueType{abi.I32}
	for _, want := range []struct {
		name            string
		params, results []abi.ValueType
	}{{abi.ExportHandle, nil, i32}, {abi.ExportHandleBatch, i32, i32}, {abi.ExportInit, nil, i32}, {abi.ExportInitialize, nil, nil}} {
		e, ok := p.export(want.name)
		if !ok {
			continue
		}
		right := funcType{params: want.params, results: want.results}
		if e.kind != kindFunc {
			return &LoadError{Path: path, What: fmt.Sprintf("exports %s as a %s, and it must be a function %s", want.name, e.kind, right)}
		}
		got, ok := p.signature(e.index)
		if !ok || !slices.Equal(got.params, want.params) || !slices.Equal(got.results, want.results) {
			return &LoadError{Path: path, What: fmt.Sprintf("exports %s as %s, and it must be %s", want.name, got, right),
				Remedy: "declare it as the contract does"}
		}
	}
	return nil
}

func missingHandle(path string, p *parsed) error {
	what := "exports no " + abi.ExportHandle
	if names := p.exportNames(); len(names) > 0 {
		const most = 12
		shown := names[:min(len(names), most)]
		what += "; it exports " + strings.Join(shown, ", ")
		if rest := len(names) - len(shown); rest > 0 {
			what += fmt.Sprintf(" and %d more", rest)
		}
	} else {
		what += "; it exports nothing"
	}
	remedy := p.handlerRemedy()
	if remedy == "" {
		remedy = "export a function " + abi.ExportHandle + " () -> i32, or " + abi.ExportHandleBatch + " (i32) -> i32 for batches"
	}
	return &LoadError{Path: path, What: what, Remedy: remedy}
}

// isCommand reports a program: it has _start and no handler.
func (p *parsed) isCommand() bool {
	_, single := p.export(abi.ExportHandle)
	_, batch := p.export(abi.ExportHandleBatch)
	_, start := p.export(abi.ExportStart)
	return start && !single && !batch
}

// checkCommand refuses a program that was meant to be a reactor: it asks for the contract's functions, which
// a command does without.
func checkCommand(path string, p *parsed) error {
	e, _ := p.export(abi.ExportStart)
	if got, ok := p.signature(e.index); e.kind != kindFunc || !ok || len(got.params)+len(got.results) > 0 {
		return &LoadError{Path: path, What: "exports " + abi.ExportStart + " as something else than a function () -> ()", Remedy: "build it for WASI preview 1"}
	}
	if p.importsModule(abi.Module) {
		return &LoadError{Path: path, What: "imports functions of " + abi.Module + " and exports " + abi.ExportStart + " alone, as a command does",
			Remedy: p.reactorRemedy()}
	}
	return nil
}

func checkMemoryExport(path string, p *parsed) error {
	e, ok := p.export(abi.ExportMemory)
	switch {
	case ok && e.kind != kindMemory:
		return &LoadError{Path: path, What: fmt.Sprintf("exports memory as a %s", e.kind), Remedy: "export its linear memory under that name"}
	case !ok || len(p.memories) == 0:
		return &LoadError{Path: path, What: "exports no memory", Remedy: `export its linear memory: (export "memory" (memory 0)) in WAT, --export-memory for wasm-ld`}
	case len(p.memories) > 1:
		return &LoadError{Path: path, What: fmt.Sprintf("has %d memories, and this host runs modules with one", len(p.memories))}
	}
	return nil
}
