package meter

import "strings"

// custom is a custom section as it is to be in the new module, nil where it is left out: what debuggers know
// of the places in the code is true no more.
func (m *module) custom(content []byte) (out []byte) {
	r := &reader{buf: content}
	name := r.name()
	switch {
	case strings.HasPrefix(name, ".debug_"), name == "sourceMappingURL", name == "external_debug_info",
		strings.HasPrefix(name, "reloc."), name == "linking", strings.HasPrefix(name, "metadata.code."):
		return nil
	case name != "name":
		return content
	}
	// The section is for people alone, and a flaw in it does not make a module invalid.
	defer func() {
		if _, ok := recover().(fault); ok {
			out = nil
		}
	}()
	out = appendName(nil, name)
	for !r.done() {
		id := r.byte()
		sub := r.bytes(r.u32())
		out = appendSized(append(out, id), m.names(id, sub))
	}
	return out
}

// The parts of the name section that go by functions.
const (
	namesOfFunctions = 1
	namesOfLocals    = 2
	namesOfLabels    = 3
)

// names gives a part of the name section the new indices of its functions.
func (m *module) names(id byte, sub []byte) []byte {
	if id != namesOfFunctions && id != namesOfLocals && id != namesOfLabels {
		return sub
	}
	r := &reader{buf: sub}
	n := r.u32()
	var out []byte
	for range n {
		out = appendU32(out, m.function(r.u32()))
		start := r.pos
		if id == namesOfFunctions {
			r.name()
		} else {
			r.vector(func() { r.skipLEB(5); r.name() })
		}
		out = append(out, r.since(start)...)
	}
	return append(appendU32(nil, n), out...)
}
