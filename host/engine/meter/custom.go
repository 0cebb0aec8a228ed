package meter

import "unicode/utf8"

// custom is a custom section as it is to be in the new module, nil where it is left out. The names of functions
// stay, for the traces of traps. What debuggers and linkers know of the places in the code is true no more.
func (m *module) custom(content []byte) (out []byte) {
	r := &reader{buf: content}
	name := r.text()
	if name != "name" || m.named {
		return nil
	}
	m.named = true
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
		if names := m.names(id, sub); names != nil {
			out = appendSized(append(out, id), names)
		}
	}
	return out
}

// text reads a name, which has to be UTF-8.
func (r *reader) text() string {
	name := r.name()
	if !utf8.ValidString(name) {
		fail("a name is not UTF-8")
	}
	return name
}

// The parts of the name section that are kept.
const (
	namesOfModule    = 0
	namesOfFunctions = 1
	namesOfLocals    = 2
)

// names gives a part of the name section the new indices of its functions, nil where it is left out.
func (m *module) names(id byte, sub []byte) []byte {
	r := &reader{buf: sub}
	switch id {
	case namesOfModule:
		r.text()
		return sub
	case namesOfFunctions, namesOfLocals:
	default:
		return nil
	}
	n := r.u32()
	var out []byte
	for range n {
		out = appendU32(out, m.function(r.u32()))
		start := r.pos
		if id == namesOfFunctions {
			r.text()
		} else {
			r.vector(func() { r.u32(); r.text() })
		}
		out = append(out, r.since(start)...)
	}
	return append(appendU32(nil, n), out...)
}
