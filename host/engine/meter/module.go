package meter

import (
	"bytes"
	"strings"
)

// The sections of a module.
const (
	sectionCustom   = 0
	sectionType     = 1
	sectionImport   = 2
	sectionFunction = 3
	sectionTable    = 4
	sectionMemory   = 5
	sectionGlobal   = 6
	sectionExport   = 7
	sectionStart    = 8
	sectionElement  = 9
	sectionCode     = 10
	sectionData     = 11
)

// rank is the place of each section in a module.
var rank = map[byte]int{sectionType: 1, sectionImport: 2, sectionFunction: 3, sectionTable: 4, sectionMemory: 5, sectionGlobal: 6, sectionExport: 7,
	sectionStart: 8, sectionElement: 9, 12: 10, sectionCode: 11, sectionData: 12}

const (
	kindFunc   = 0
	kindTable  = 1
	kindMemory = 2
	kindGlobal = 3
)

type section struct {
	id      byte
	content []byte
}

type functionType struct {
	params, results []byte
}

// module is what the rewriting knows of a module.
type module struct {
	preamble []byte
	sections []section

	types           []functionType
	functions       []uint32 // the type of each, imported ones first
	imported        uint32   // functions
	globals         uint32
	importedGlobals uint32
	memories        uint32
	segments        []uint32 // the length of each of the data
	named           bool     // there was a name section

	// What is added. A type that is added has its bytes in newTypes.
	newTypes []string
	helpers  []helper
}

// helper is a function that is added behind the module's own.
type helper struct {
	op      uint32 // the instruction that it stands for
	segment uint32 // of a memory.init
	body    []byte
}

// read takes a module apart. What it keeps are pieces of the bytes given.
func read(wasm []byte) *module {
	r := &reader{buf: wasm}
	m := &module{preamble: r.bytes(8)}
	if !bytes.Equal(m.preamble, []byte("\x00asm\x01\x00\x00\x00")) {
		fail("this is no WebAssembly module of version 1")
	}
	last := 0
	for !r.done() {
		s := section{id: r.byte()}
		s.content = r.bytes(r.u32())
		if s.id != sectionCustom {
			switch {
			case rank[s.id] == 0:
				unsupported("section %d", s.id)
			case rank[s.id] <= last:
				fail("section %d is out of order", s.id)
			}
			last = rank[s.id]
		}
		m.sections = append(m.sections, s)
		m.note(s)
	}
	return m
}

// note learns what other sections need of one.
func (m *module) note(s section) {
	r := &reader{buf: s.content}
	switch s.id {
	case sectionType:
		r.vector(func() {
			if form := r.byte(); form != typeFunc {
				unsupported("type form 0x%02x", form)
			}
			m.types = append(m.types, functionType{r.valueTypes(), r.valueTypes()})
		})
	case sectionImport:
		r.vector(func() { m.noteImport(r) })
	case sectionFunction:
		r.vector(func() { m.functions = append(m.functions, m.typeIndex(r.u32())) })
	case sectionTable:
		r.vector(func() { r.referenceType(); r.skipLimits() })
	case sectionMemory:
		m.memories += r.u32()
	case sectionGlobal:
		m.globals += r.u32()
	case sectionData:
		m.data(s.content)
	}
}

func (m *module) noteImport(r *reader) {
	if taken(r.name()) {
		panic(fault{ErrTaken})
	}
	r.name()
	switch kind := r.byte(); kind {
	case kindFunc:
		m.functions = append(m.functions, m.typeIndex(r.u32()))
		m.imported++
	case kindTable:
		r.referenceType()
		r.skipLimits()
	case kindMemory:
		r.skipLimits()
		m.memories++
	case kindGlobal:
		r.valueType()
		r.byte()
		m.globals++
		m.importedGlobals++
	default:
		unsupported("import of kind %d", kind)
	}
}

// valueTypes reads the types of parameters or results.
func (r *reader) valueTypes() []byte {
	n := r.u32()
	start := r.pos
	for range n {
		r.valueType()
	}
	return r.since(start)
}

func (r *reader) skipLimits() {
	flags := r.byte()
	if flags > 1 {
		unsupported("limits 0x%02x", flags)
	}
	r.skipLEB(5)
	if flags&1 != 0 {
		r.skipLEB(5)
	}
}

func (m *module) typeIndex(i uint32) uint32 {
	if uint64(i) >= uint64(len(m.types)) {
		fail("there is no type %d", i)
	}
	return i
}

// function is the new index of one of the module's functions.
func (m *module) function(i uint32) uint32 {
	if uint64(i) >= uint64(len(m.functions)) {
		fail("there is no function %d", i)
	}
	if i < m.imported {
		return i
	}
	return i + imports
}

func (m *module) global(i uint32) uint32 {
	if i >= m.globals {
		fail("there is no global %d", i)
	}
	return i
}

// The indices of what is added.
func (m *module) spent() uint32   { return m.imported }
func (m *module) deep() uint32    { return m.imported + 1 }
func (m *module) counter() uint32 { return m.globals }
func (m *module) room() uint32    { return m.globals + 1 }

// newType is the index of a type that may have to be added.
func (m *module) newType(params, results []byte) uint32 {
	for i, t := range m.types {
		if bytes.Equal(t.params, params) && bytes.Equal(t.results, results) {
			return uint32(i)
		}
	}
	text := string(appendSized(appendSized([]byte{typeFunc}, params), results))
	for i, known := range m.newTypes {
		if known == text {
			return uint32(len(m.types) + i)
		}
	}
	m.newTypes = append(m.newTypes, text)
	return uint32(len(m.types) + len(m.newTypes) - 1)
}

// helper is the index of the function that stands for a bulk operation.
func (m *module) helper(op, segment uint32) uint32 {
	for i, h := range m.helpers {
		if h.op == op && h.segment == segment {
			return uint32(len(m.functions)+i) + imports
		}
	}
	m.helpers = append(m.helpers, helper{op, segment, m.pieces(op, segment)})
	return uint32(len(m.functions)+len(m.helpers)-1) + imports
}

// write puts the module together again. The code comes first: it says what has to be added elsewhere.
func (m *module) write() []byte {
	var code []byte
	size := 0
	for _, s := range m.sections {
		size += len(s.content)
		if s.id == sectionCode {
			code = m.code(s.content)
		}
	}
	nullary := m.newType(nil, nil)
	var helperType uint32
	if len(m.helpers) > 0 {
		helperType = m.newType([]byte{typeI32, typeI32, typeI32}, nil)
	}
	out := append(make([]byte, 0, size+size/2+1024), m.preamble...)
	added := []struct {
		id     byte
		count  uint32
		append func([]byte) []byte
	}{
		{sectionType, uint32(len(m.newTypes)), func(b []byte) []byte { return append(b, strings.Join(m.newTypes, "")...) }},
		{sectionImport, imports, func(b []byte) []byte {
			for _, name := range []string{Spent, Deep} {
				b = appendName(appendName(b, Module), name)
				b = appendU32(append(b, kindFunc), nullary)
			}
			return b
		}},
		{sectionFunction, uint32(len(m.helpers)), func(b []byte) []byte {
			for range m.helpers {
				b = appendU32(b, helperType)
			}
			return b
		}},
		{sectionGlobal, 2, func(b []byte) []byte {
			for _, initial := range []int64{Interval, Depth} {
				b = append(appendS(append(b, typeI32, 1, opI32Const), initial), opEnd)
			}
			return b
		}},
		{sectionExport, 2, func(b []byte) []byte {
			b = appendU32(append(appendName(b, Counter), kindGlobal), m.counter())
			return appendU32(append(appendName(b, Room), kindGlobal), m.room())
		}},
		{sectionCode, uint32(len(m.helpers)), func(b []byte) []byte {
			for _, h := range m.helpers {
				b = appendSized(b, h.body)
			}
			return b
		}},
	}
	next := 0
	insertBefore := func(id byte) {
		for next < len(added) && rank[added[next].id] < rank[id] {
			if a := added[next]; a.count > 0 {
				out = appendSized(append(out, a.id), a.append(appendU32(nil, a.count)))
			}
			next++
		}
	}
	for _, s := range m.sections {
		content := s.content
		switch s.id {
		case sectionCustom:
			if content = m.custom(content); content != nil {
				out = appendSized(append(out, s.id), content)
			}
			continue
		case sectionGlobal:
			content = m.globalSection(content)
		case sectionExport:
			content = m.exports(content)
		case sectionStart:
			content = appendU32(nil, m.function((&reader{buf: content}).u32()))
		case sectionElement:
			content = m.elements(content)
		case sectionCode:
			content = code
		case sectionData:
			content = m.data(content)
		}
		insertBefore(s.id)
		if next < len(added) && added[next].id == s.id {
			content = extend(content, added[next].count, added[next].append)
			next++
		}
		out = appendSized(append(out, s.id), content)
	}
	for ; next < len(added); next++ {
		if a := added[next]; a.count > 0 {
			out = appendSized(append(out, a.id), a.append(appendU32(nil, a.count)))
		}
	}
	return out
}

// extend adds elements to the end of a section that is one vector.
func extend(content []byte, n uint32, add func([]byte) []byte) []byte {
	r := &reader{buf: content}
	count := r.u32()
	b := appendU32(make([]byte, 0, len(content)+64), count+n)
	return add(append(b, content[r.pos:]...))
}

// globalSection holds the indices in the globals' initial values.
func (m *module) globalSection(content []byte) []byte {
	r := &reader{buf: content}
	out := make([]byte, 0, len(content))
	n := r.u32()
	out = appendU32(out, n)
	for range n {
		out = append(out, r.valueType(), r.byte())
		out = m.expression(r, out)
	}
	return out
}

// expression copies a constant expression, with the functions that it refers to.
func (m *module) expression(r *reader, out []byte) []byte {
	for {
		start := r.pos
		switch op := r.byte(); op {
		case opEnd:
			return append(out, op)
		case opRefFunc:
			out = appendU32(append(out, op), m.function(r.u32()))
			continue
		case opGlobalGet:
			m.global(r.u32())
		case opRefNull:
			r.referenceType()
		default:
			r.skipOperands(op)
		}
		out = append(out, r.since(start)...)
	}
}

func (m *module) exports(content []byte) []byte {
	r := &reader{buf: content}
	n := r.u32()
	out := appendU32(make([]byte, 0, len(content)+64), n)
	for range n {
		name := r.name()
		if taken(name) {
			panic(fault{ErrTaken})
		}
		kind, index := r.byte(), r.u32()
		switch kind {
		case kindFunc:
			index = m.function(index)
		case kindGlobal:
			m.global(index)
		}
		out = appendU32(append(appendName(out, name), kind), index)
	}
	return out
}

func (m *module) elements(content []byte) []byte {
	r := &reader{buf: content}
	n := r.u32()
	out := appendU32(make([]byte, 0, len(content)+64), n)
	for range n {
		flags := r.u32()
		if flags > 7 {
			fail("an element segment has flags %d", flags)
		}
		out = appendU32(out, flags)
		passive, explicit, expressions := flags&1 != 0, flags&2 != 0, flags&4 != 0
		if !passive {
			if explicit {
				out = appendU32(out, r.u32())
			}
			out = m.expression(r, out)
		}
		switch {
		case !passive && !explicit:
		case expressions:
			out = append(out, r.referenceType())
		default:
			out = append(out, r.byte()) // the kind of the elements
		}
		count := r.u32()
		out = appendU32(out, count)
		for range count {
			if expressions {
				out = m.expression(r, out)
			} else {
				out = appendU32(out, m.function(r.u32()))
			}
		}
	}
	return out
}

// data holds the indices in the offsets of the data segments, and learns how long they are.
func (m *module) data(content []byte) []byte {
	r := &reader{buf: content}
	n := r.u32()
	m.segments = m.segments[:0]
	out := appendU32(make([]byte, 0, len(content)), n)
	for range n {
		flags := r.u32()
		if flags > 2 {
			fail("a data segment has flags %d", flags)
		}
		out = appendU32(out, flags)
		if flags == 2 {
			out = appendU32(out, r.u32())
		}
		if flags != 1 {
			out = m.expression(r, out)
		}
		segment := r.bytes(r.u32())
		m.segments = append(m.segments, uint32(len(segment)))
		out = appendSized(out, segment)
	}
	return out
}
