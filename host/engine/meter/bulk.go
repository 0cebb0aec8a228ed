package meter

// piece is how many bytes a bulk operation on the memory handles before the counter is looked at.
const piece = 64 << 10

// pieces is the body of the function (i32, i32, i32) -> () that does a memory.copy, a memory.fill, or the
// memory.init of a segment in pieces. Like the instruction it writes nothing where it would leave the memory: it
// does the whole at once then, which traps.
func (m *module) pieces(op, segment uint32) []byte {
	const to, from, length, scratch = 0, 1, 2, 3 // from is the value of a fill
	f := &assembler{module: m, segment: segment}
	f.out = append(f.out, 1, 1, typeI32) // the scratch
	whole := func() { f.local(to).local(from).local(length).bulk(op) }

	f.local(length).i32(piece).op(opI32LeU, opIf, blockEmpty)
	f.charge(length, scratch)
	whole()
	f.op(opReturn, opEnd)

	f.outside(op, to, length)
	switch op {
	case miscMemoryCopy:
		f.outside(op, from, length)
	case miscMemoryInit:
		// How long the segment is now, which may have been dropped, tells nothing but a memory.init itself: one of
		// no bytes at the end of the whole.
		f.local(from).local(length).op(opI32Add).local(from).op(opI32LtU, opIf, blockEmpty)
		whole()
		f.op(opUnreachable, opEnd)
		f.local(to).local(from).local(length).op(opI32Add).i32(0).bulk(op)
	}

	if op == miscMemoryCopy {
		// A destination behind the source is written from its end, so that no piece overwrites what is still to
		// be read.
		f.local(to).local(from).op(opI32GtU, opIf, blockEmpty)
		f.op(opLoop, blockEmpty)
		f.local(length).i32(piece).op(opI32Sub).set(length)
		f.local(to).local(length).op(opI32Add).local(from).local(length).op(opI32Add).i32(piece).bulk(op)
		f.chargePiece(scratch)
		f.local(length).i32(piece).op(opI32GtU, opBrIf, 0, opEnd)
		f.charge(length, scratch)
		whole()
		f.op(opReturn, opEnd)
	}

	f.op(opLoop, blockEmpty)
	f.local(to).local(from).i32(piece).bulk(op)
	f.local(to).i32(piece).op(opI32Add).set(to)
	if op != miscMemoryFill {
		f.local(from).i32(piece).op(opI32Add).set(from)
	}
	f.local(length).i32(piece).op(opI32Sub).set(length)
	f.chargePiece(scratch)
	f.local(length).i32(piece).op(opI32GtU, opBrIf, 0, opEnd)
	f.charge(length, scratch)
	whole()
	f.op(opEnd)
	return f.out
}

// assembler writes instructions.
type assembler struct {
	module  *module
	segment uint32 // of a memory.init
	out     []byte
}

func (f *assembler) op(bytes ...byte) *assembler {
	f.out = append(f.out, bytes...)
	return f
}

func (f *assembler) local(i uint32) *assembler {
	f.out = appendU32(append(f.out, opLocalGet), i)
	return f
}

func (f *assembler) set(i uint32) *assembler {
	f.out = appendU32(append(f.out, opLocalSet), i)
	return f
}

func (f *assembler) i32(v int64) *assembler {
	f.out = appendS(append(f.out, opI32Const), v)
	return f
}

// bulk is a memory.copy, memory.fill or memory.init.
func (f *assembler) bulk(op uint32) *assembler {
	f.op(opMisc, byte(op))
	switch op {
	case miscMemoryInit:
		f.out = appendU32(f.out, f.segment)
	case miscMemoryCopy:
		f.op(0)
	}
	return f.op(0)
}

// outside does the whole at once, which traps, where so many bytes from a place on are not in the memory.
func (f *assembler) outside(op, at, length uint32) {
	f.local(at).op(opI64ExtendI32U).local(length).op(opI64ExtendI32U, opI64Add)
	f.op(opMemorySize, 0, opI64ExtendI32U, opI64Const, 16, opI64Shl, opI64GtU, opIf, blockEmpty)
	f.local(0).local(1).local(2).bulk(op).op(opUnreachable, opEnd)
}

// charge charges a length of bytes.
func (f *assembler) charge(length, scratch uint32) {
	f.out = f.module.charge(f.out, scratch, func(out []byte) []byte {
		return append(appendU32(append(out, opLocalGet), length), opI32Const, 4, opI32ShrU)
	})
}

func (f *assembler) chargePiece(scratch uint32) {
	f.out = f.module.charge(f.out, scratch, func(out []byte) []byte { return appendS(append(out, opI32Const), piece>>4) })
}
