package engine

import (
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/inbox-wasm/inbox-wasm/abi"
)

// parsed is what a module says about itself: enough of the binary format to answer, before anything is
// compiled, what it imports, exports and needs at the start. It judges nothing; wazero validates the rest.
type parsed struct {
	types     []funcType
	imports   []moduleImport
	functions []uint32 // the type of each function, imported ones first
	memories  []pages
	exported  []moduleExport
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
		case 1:
			body.vector(func() { p.types = append(p.types, body.funcType()) })
		case 2:
			body.vector(func() { p.readImport(body) })
		case 3:
			body.vector(func() { p.functions = append(p.functions, body.u32()) })
		case 5:
			body.vector(func() { p.memories = append(p.memories, body.memory()) })
		case 7:
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

// reader reads the binary format. After a fault it yields zeros and keeps the first error.
type reader struct {
	buf []byte
	err error
}

var errShort = errors.New("unexpected end")

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.buf = nil
}

func (r *reader) byte() byte {
	if len(r.buf) == 0 {
		r.fail(errShort)
		return 0
	}
	b := r.buf[0]
	r.buf = r.buf[1:]
	return b
}

func (r *reader) bytes(n uint32) []byte {
	if uint64(n) > uint64(len(r.buf)) {
		r.fail(errShort)
		return nil
	}
	b := r.buf[:n]
	r.buf = r.buf[n:]
	return b
}

// leb reads an unsigned number in LEB128 of at most bits bits.
func (r *reader) leb(bits uint) uint64 {
	var v uint64
	for shift := uint(0); ; shift += 7 {
		b := r.byte()
		if r.err != nil {
			return 0
		}
		if shift >= bits || (shift+7 > bits && b>>(bits-shift) != 0) {
			r.fail(errors.New("a number is too large"))
			return 0
		}
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return v
		}
	}
}

func (r *reader) u32() uint32 { return uint32(r.leb(32)) }

func (r *reader) name() string {
	b := r.bytes(r.u32())
	if !utf8.Valid(b) {
		r.fail(errors.New("a name is not UTF-8"))
	}
	return string(b)
}

// vector calls each once for each element. The count is not trusted: a fault ends it.
func (r *reader) vector(each func()) {
	for n := r.u32(); n > 0 && r.err == nil; n-- {
		each()
	}
}

func (r *reader) funcType() funcType {
	if form := r.byte(); r.err == nil && form != 0x60 {
		r.fail(fmt.Errorf("type form 0x%02x", form))
	}
	var t funcType
	r.vector(func() { t.params = append(t.params, r.valueType()) })
	r.vector(func() { t.results = append(t.results, r.valueType()) })
	return t
}

func (r *reader) valueType() abi.ValueType {
	switch b := r.byte(); b {
	case 0x7f:
		return abi.I32
	case 0x7e:
		return abi.I64
	case 0x7d:
		return "f32"
	case 0x7c:
		return "f64"
	case 0x7b:
		return "v128"
	case 0x70:
		return "funcref"
	case 0x6f:
		return "externref"
	default:
		r.fail(fmt.Errorf("value type 0x%02x", b))
		return ""
	}
}

// memory reads a memory's limits; the flags other than "has a maximum" are judged by wazero.
func (r *reader) memory() pages { return pages{min: r.limits()} }

func (r *reader) limits() (min uint64) {
	flags := r.byte()
	bits := uint(32)
	if flags&4 != 0 {
		bits = 64
	}
	min = r.leb(bits)
	if flags&1 != 0 {
		r.leb(bits)
	}
	return min
}
