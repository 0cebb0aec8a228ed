package engine

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/inbox-wasm/inbox-wasm/abi"
)

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
