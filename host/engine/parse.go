package engine

import (
	"fmt"
	"slices"

	"github.com/inbox-wasm/inbox-wasm/abi"
)

// parsed is what a module says about itself: enough of the binary format to answer, before anything is
// compiled, what it imports, exports and needs at the start. It judges nothing; wazero validates the rest.
type parsed struct {
	types     []funcType
	imports   []moduleImport
	functions []uint32 // the type of each function, imported ones first
	tables    []table
	memories  []pages
	exported  []moduleExport
	producers string // the section of that name, as it is
}

type funcType struct {
	params, results []abi.ValueType
}

func (t funcType) String() string {
	params := make([]string, len(t.params))
	for i, p := range t.params {
		params[i] = string(p)
	}
	return abi.Signature(params, t.results...)
}

type moduleImport struct {
	module, name string
	kind         kind
	typ          uint32 // of a function
}

type moduleExport struct {
	name  string
	kind  kind
	index uint32
}

// pages are a memory's size at the start.
type pages struct{ min uint64 }

type kind byte

const (
	kindFunc kind = iota
	kindTable
	kindMemory
	kindGlobal
	kindTag
)

func (k kind) String() string {
	if names := [...]string{"function", "table", "memory", "global", "tag"}; int(k) < len(names) {
		return names[k]
	}
	return fmt.Sprintf("kind %d", byte(k))
}

const pageSize = 64 << 10

// The sections that are read.
const (
	sectionCustom   = 0
	sectionType     = 1
	sectionImport   = 2
	sectionFunction = 3
	sectionTable    = 4
	sectionMemory   = 5
	sectionExport   = 7
)

// preambleSize is the magic number and the version.
const preambleSize = 8

// parse reads a core module whose preamble has been checked.
func parse(wasm []byte) (*parsed, error) {
	r := &reader{buf: wasm[preambleSize:]}
	p := &parsed{}
	for len(r.buf) > 0 && r.err == nil {
		id := r.byte()
		body := &reader{buf: r.bytes(r.u32())}
		if r.err != nil {
			break
		}
		switch id {
		case sectionCustom:
			if name := body.name(); name == "producers" {
				p.producers = string(body.buf)
			}
			body.err = nil // what is wrong with a custom section is nobody's business
		case sectionType:
			body.vector(func() { p.types = append(p.types, body.funcType()) })
		case sectionImport:
			body.vector(func() { p.readImport(body) })
		case sectionFunction:
			body.vector(func() { p.functions = append(p.functions, body.u32()) })
		case sectionTable:
			body.vector(func() { p.tables = append(p.tables, body.table()) })
		case sectionMemory:
			body.vector(func() { p.memories = append(p.memories, body.memory()) })
		case sectionExport:
			body.vector(func() {
				p.exported = append(p.exported, moduleExport{body.name(), kind(body.byte()), body.u32()})
			})
		}
		if body.err != nil {
			return nil, fmt.Errorf("section %d: %w", id, body.err)
		}
	}
	return p, r.err
}

func (p *parsed) readImport(r *reader) {
	i := moduleImport{module: r.name(), name: r.name(), kind: kind(r.byte())}
	switch i.kind {
	case kindFunc:
		i.typ = r.u32()
		p.functions = append(p.functions, i.typ)
	case kindTable:
		r.byte()
		r.limits()
	case kindMemory:
		p.memories = append(p.memories, r.memory())
	case kindGlobal:
		r.byte()
		r.byte()
	case kindTag:
		r.byte()
		r.u32()
	default:
		r.fail(fmt.Errorf("import %s.%s is of an unknown kind %d", i.module, i.name, byte(i.kind)))
	}
	p.imports = append(p.imports, i)
}

// signature of a function by its index, or false where the module names none.
func (p *parsed) signature(function uint32) (funcType, bool) {
	if uint64(function) >= uint64(len(p.functions)) {
		return funcType{}, false
	}
	return p.typeAt(p.functions[function])
}

func (p *parsed) typeAt(index uint32) (funcType, bool) {
	if uint64(index) >= uint64(len(p.types)) {
		return funcType{}, false
	}
	return p.types[index], true
}

func (p *parsed) export(name string) (moduleExport, bool) {
	i := slices.IndexFunc(p.exported, func(e moduleExport) bool { return e.name == name })
	if i < 0 {
		return moduleExport{}, false
	}
	return p.exported[i], true
}

func (p *parsed) importsModule(name string) bool {
	return slices.ContainsFunc(p.imports, func(i moduleImport) bool { return i.module == name })
}

func (p *parsed) importNames() []string {
	names := make([]string, len(p.imports))
	for i, imported := range p.imports {
		names[i] = imported.module + "." + imported.name
	}
	return names
}

func (p *parsed) exportNames() []string {
	names := make([]string, len(p.exported))
	for i, e := range p.exported {
		names[i] = e.name
	}
	slices.Sort(names)
	return names
}

// initialMemory in bytes.
func (p *parsed) initialMemory() uint64 {
	if len(p.memories) == 0 {
		return 0
	}
	return p.memories[0].min * pageSize
}
