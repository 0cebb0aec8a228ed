package meter

// reader reads the binary format. It panics with a fault, which Rewrite turns into its error.
type reader struct {
	buf []byte
	pos int
}

func (r *reader) done() bool { return r.pos >= len(r.buf) }

func (r *reader) byte() byte {
	if r.done() {
		fail("unexpected end")
	}
	b := r.buf[r.pos]
	r.pos++
	return b
}

func (r *reader) bytes(n uint32) []byte {
	if uint64(n) > uint64(len(r.buf)-r.pos) {
		fail("unexpected end")
	}
	b := r.buf[r.pos : r.pos+int(n)]
	r.pos += int(n)
	return b
}

// u32 reads an unsigned number in LEB128.
func (r *reader) u32() uint32 {
	var v uint64
	for shift := 0; shift < 35; shift += 7 {
		b := r.byte()
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			if v>>32 != 0 {
				break
			}
			return uint32(v)
		}
	}
	fail("a number is too large")
	return 0
}

// skipLEB passes over a number of at most n bytes.
func (r *reader) skipLEB(n int) {
	for range n {
		if r.byte() < 0x80 {
			return
		}
	}
	fail("a number is too large")
}

// s33 reads the index of a block's type, or the negative number that stands for a value type.
func (r *reader) s33() int64 {
	var v int64
	for shift := 0; shift < 35; shift += 7 {
		b := r.byte()
		v |= int64(b&0x7f) << shift
		if b < 0x80 {
			if b&0x40 != 0 {
				v |= -1 << (shift + 7)
			}
			return v
		}
	}
	fail("a number is too large")
	return 0
}

// valueType reads the type of a value.
func (r *reader) valueType() byte {
	t := r.byte()
	switch t {
	case typeI32, 0x7e, 0x7d, 0x7c, 0x7b, typeFuncref, typeExternref:
	default:
		unsupported("value type 0x%02x", t)
	}
	return t
}

// referenceType reads the type of a reference.
func (r *reader) referenceType() byte {
	t := r.byte()
	if t != typeFuncref && t != typeExternref {
		unsupported("reference type 0x%02x", t)
	}
	return t
}

func (r *reader) name() string { return string(r.bytes(r.u32())) }

// vector calls each once for each element.
func (r *reader) vector(each func()) {
	for n := r.u32(); n > 0; n-- {
		each()
	}
}

// since is what was read from a position on.
func (r *reader) since(start int) []byte { return r.buf[start:r.pos] }

// appendU32 appends an unsigned number in LEB128.
func appendU32(b []byte, v uint32) []byte {
	for v >= 0x80 {
		b = append(b, byte(v)|0x80)
		v >>= 7
	}
	return append(b, byte(v))
}

// appendS appends a signed number in LEB128.
func appendS(b []byte, v int64) []byte {
	for {
		low := byte(v & 0x7f)
		v >>= 7
		if v == 0 && low&0x40 == 0 || v == -1 && low&0x40 != 0 {
			return append(b, low)
		}
		b = append(b, low|0x80)
	}
}

// appendName appends a name behind its length.
func appendName(b []byte, name string) []byte {
	return append(appendU32(b, uint32(len(name))), name...)
}

// appendSized appends bytes behind their length.
func appendSized(b, content []byte) []byte {
	return append(appendU32(b, uint32(len(content))), content...)
}
