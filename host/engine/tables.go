package engine

import (
	"encoding/binary"
	"fmt"
)

// maxTableEntries is what all tables of a module may hold together. A table lies outside of linear memory,
// with eight bytes an entry: without a bound, one table.grow takes gigabytes from the host, whatever the
// handler's memory limit. Toolchains make tables of thousands.
const maxTableEntries = 1 << 20

// table is one entry of the table section.
type table struct {
	element byte
	min     uint64
	max     uint64
	bounded bool
}

func (r *reader) table() table {
	t := table{element: r.byte()}
	if r.err == nil && t.element != 0x70 && t.element != 0x6f {
		r.fail(fmt.Errorf("table of element type 0x%02x", t.element))
	}
	flags := r.byte()
	if flags > 1 {
		r.fail(fmt.Errorf("table limits 0x%02x", flags))
	}
	t.min, t.bounded = r.leb(32), flags == 1
	if t.bounded {
		t.max = r.leb(32)
	}
	return t
}

func checkTables(path string, p *parsed) error {
	var entries uint64
	for _, t := range p.tables {
		entries += t.min
	}
	if entries > maxTableEntries {
		return &LoadError{Path: path, What: fmt.Sprintf("has tables of %d entries, and the most is %d", entries, maxTableEntries)}
	}
	return nil
}

// boundTables gives every table a maximum, so that together they stay within maxTableEntries, by writing the
// table section anew. table.grow past it answers -1, as WebAssembly has it.
func boundTables(wasm []byte, tables []table) []byte {
	if len(tables) == 0 {
		return wasm
	}
	out := make([]byte, 0, len(wasm)+64)
	out = append(out, wasm[:preambleSize]...)
	for r := (reader{buf: wasm[preambleSize:]}); len(r.buf) > 0; {
		id, body := r.byte(), r.bytes(r.u32())
		if id == sectionTable {
			body = tableSection(tables)
		}
		out = append(out, id)
		out = binary.AppendUvarint(out, uint64(len(body)))
		out = append(out, body...)
	}
	return out
}

func tableSection(tables []table) []byte {
	room := uint64(maxTableEntries)
	for _, t := range tables {
		room -= t.min // checkTables saw that it suffices
	}
	share := room / uint64(len(tables))
	section := binary.AppendUvarint(nil, uint64(len(tables)))
	for _, t := range tables {
		most := t.min + share
		if t.bounded {
			most = min(t.max, most)
		}
		section = append(section, t.element, 1)
		section = binary.AppendUvarint(section, t.min)
		section = binary.AppendUvarint(section, most)
	}
	return section
}
