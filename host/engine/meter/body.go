package meter

// small functions without calls and loops are counted by their callers: straight code of this many instructions.
const small = 32

// edit is a place in a body where the new code differs.
type edit struct {
	kind       editKind
	start, end int    // of the instruction in the old code
	arg        uint32 // of the instruction
	segment    uint32 // of a memory.init
	loop       int    // of a loop: its number in order of headers
}

type editKind byte

const (
	editIndex    editKind = iota // an instruction of one byte whose operand is now arg
	editLoop                     // a loop, whose header is counted
	editReturn                   // a return, which is now a branch to the label arg
	editTailCall                 // a tail call of the function arg
	editTailJump                 // a tail call through a table
	editHelper                   // the bulk operation arg, which is now a call of a function that does it
	editCharge                   // a bulk operation whose length, shifted right by arg, is charged
)

// code rewrites the code section.
func (m *module) code(content []byte) []byte {
	r := &reader{buf: content}
	n := r.u32()
	if uint64(n) != uint64(len(m.functions))-uint64(m.imported) {
		fail("%d functions have %d bodies", len(m.functions)-int(m.imported), n)
	}
	out := appendU32(make([]byte, 0, len(content)+len(content)/2), n)
	b := &body{module: m}
	for i := range n {
		out = appendSized(out, b.rewrite(r.bytes(r.u32()), m.types[m.functions[m.imported+i]]))
	}
	if !r.done() {
		fail("there is more behind the last function")
	}
	return out
}

// body rewrites one function after another, and keeps its room from one to the next.
type body struct {
	module *module
	typ    functionType
	locals uint32 // parameters too
	edits  []edit
	ticks  []int32 // of the body outside of loops, then of each loop outside of inner ones
	blocks []block
	calls  bool
	looped bool // the code comes to a loop's header whatever happens, before it calls anything
	out    []byte
}

type block struct {
	ticks int // where its instructions are counted: an index of body.ticks
}

// scratch is the local that is added.
func (b *body) scratch() uint32 { return b.locals }

func (b *body) rewrite(old []byte, t functionType) []byte {
	b.typ = t
	r := &reader{buf: old}
	groups := r.u32()
	locals := uint64(len(t.params))
	start := r.pos
	for range groups {
		locals += uint64(r.u32())
		r.valueType()
	}
	if locals >= 1<<31 {
		fail("a function has %d locals", locals)
	}
	b.locals = uint32(locals)
	declared := r.since(start)
	code := r.pos
	b.read(r)

	out := appendU32(b.out[:0], groups+1)
	out = append(out, declared...)
	out = append(appendU32(out, 1), typeI32)
	if b.ticks[0] > small || b.calls && !b.looped {
		out = b.spend(out, b.ticks[0])
	}
	if b.calls {
		out = b.enter(out)
	}
	at := code
	for _, e := range b.edits {
		out = append(out, old[at:e.start]...)
		out = b.apply(out, old, e)
		at = e.end
	}
	if b.calls {
		// The last end closes the block around the code, and one more the function.
		out = append(out, old[at:]...)
		out = b.leave(out)
		out = append(out, opEnd)
	} else {
		out = append(out, old[at:]...)
	}
	b.out = out
	return out
}

// read finds what is to be changed in the instructions, up to the end of the body.
func (b *body) read(r *reader) {
	b.edits, b.ticks, b.blocks, b.calls = b.edits[:0], append(b.ticks[:0], 0), append(b.blocks[:0], block{}), false
	straight := true
	b.looped = false
	for len(b.blocks) > 0 {
		start := r.pos
		op := r.byte()
		in := &b.ticks[b.blocks[len(b.blocks)-1].ticks]
		*in++
		note := func(kind editKind, arg uint32) {
			b.edits = append(b.edits, edit{kind: kind, start: start, end: r.pos, arg: arg})
		}
		b.looped = b.looped || straight && op == opLoop
		straight = straight && goesOn(op)
		switch op {
		case opBlock, opIf:
			b.blockType(r)
			b.blocks = append(b.blocks, b.blocks[len(b.blocks)-1])
		case opLoop:
			b.blockType(r)
			b.blocks = append(b.blocks, block{ticks: len(b.ticks)})
			b.ticks = append(b.ticks, 1)
			b.edits = append(b.edits, edit{kind: editLoop, start: start, end: r.pos, loop: len(b.ticks) - 1})
		case opEnd:
			b.blocks = b.blocks[:len(b.blocks)-1]
		case opReturn:
			note(editReturn, uint32(len(b.blocks)-1))
		case opCall:
			arg := b.module.function(r.u32())
			note(editIndex, arg)
			b.calls = true
			*in += small
		case opCallIndirect:
			b.module.typeIndex(r.u32())
			r.skipLEB(5)
			b.calls = true
			*in += small
		case opReturnCall:
			arg := b.module.function(r.u32())
			note(editTailCall, arg)
			b.calls = true
			*in += small
		case opReturnCallIndirect:
			b.module.typeIndex(r.u32())
			r.skipLEB(5)
			note(editTailJump, 0)
			b.calls = true
			*in += small
		case opRefFunc:
			arg := b.module.function(r.u32())
			note(editIndex, arg)
		case opRefNull:
			r.referenceType()
		case opLocalGet, opLocalSet, opLocalTee:
			if i := r.u32(); i >= b.locals {
				fail("there is no local %d", i)
			}
		case opGlobalGet, opGlobalSet:
			b.module.global(r.u32())
		case opMisc:
			b.misc(r, note)
		default:
			r.skipOperands(op)
		}
	}
	if !r.done() {
		fail("there is more behind the end of a function")
	}
	if b.calls {
		return
	}
	// Without the block around the code, a return stays what it is.
	kept := b.edits[:0]
	for _, e := range b.edits {
		if e.kind != editReturn {
			kept = append(kept, e)
		}
	}
	b.edits = kept
}

// goesOn reports an instruction behind which the next one follows, and nothing else.
func goesOn(op byte) bool {
	return op == opBlock || op >= opLocalGet && op <= 0x3e || op >= opI32Const && op <= 0xc4
}

func (b *body) blockType(r *reader) {
	switch t := r.s33(); {
	case t >= 0:
		b.module.typeIndex(uint32(t))
	case t < -0x40 || t == -0x1c || t == -0x1d: // 0x64 and 0x63
		unsupported("block type %d", t)
	}
}

// misc notes the bulk operations. Those that cannot be longer than a piece, or than the module's tables, are
// charged; the others are done in pieces by a function.
func (b *body) misc(r *reader, note func(editKind, uint32)) {
	op := r.u32()
	if op == miscMemoryInit {
		segment := r.u32()
		r.skipLEB(5)
		switch {
		case uint64(segment) >= uint64(len(b.module.segments)):
			fail("there is no data segment %d", segment)
		case b.module.segments[segment] <= piece:
			note(editCharge, 4)
		default:
			note(editHelper, op)
			b.edits[len(b.edits)-1].segment = segment
		}
		return
	}
	r.skipMisc(op)
	switch op {
	case miscMemoryCopy, miscMemoryFill:
		if b.module.memories == 0 {
			fail("there is no memory")
		}
		note(editHelper, op)
	case miscTableInit, miscTableCopy, miscTableGrow, miscTableFill:
		note(editCharge, 1)
	}
}

// apply writes what takes the place of an instruction.
func (b *body) apply(out, old []byte, e edit) []byte {
	switch e.kind {
	case editIndex:
		return appendU32(append(out, old[e.start]), e.arg)
	case editLoop:
		out = append(out, old[e.start:e.end]...)
		return b.spend(out, b.ticks[e.loop])
	case editReturn:
		return appendU32(append(out, opBr), e.arg)
	case editTailCall:
		return appendU32(append(b.leave(out), opReturnCall), e.arg)
	case editTailJump:
		return append(b.leave(out), old[e.start:e.end]...)
	case editHelper:
		return appendU32(append(out, opCall), b.module.helper(e.arg, e.segment))
	default: // editCharge
		out = appendU32(append(out, opLocalTee), b.scratch())
		// An interval at the most, which filling up makes good: charges that are larger would add up, until the
		// counter wraps around and asks no more.
		out = appendU32(append(out, opLocalGet), b.scratch())
		out = append(appendS(append(out, opI32Const), int64(e.arg)), opI32ShrU)
		out = appendU32(append(out, opLocalTee), b.scratch())
		out = appendS(append(out, opI32Const), Interval)
		out = appendU32(append(out, opLocalGet), b.scratch())
		out = append(appendS(append(out, opI32Const), Interval), opI32LtU, opSelect)
		out = appendU32(append(out, opLocalSet), b.scratch())
		out = b.module.charge(out, b.scratch(), func(out []byte) []byte {
			return appendU32(append(out, opLocalGet), b.scratch())
		})
		return append(out, old[e.start:e.end]...)
	}
}

// spend takes ticks from the counter.
func (b *body) spend(out []byte, ticks int32) []byte {
	return b.module.charge(out, b.scratch(), func(out []byte) []byte {
		return appendS(append(out, opI32Const), int64(expected(ticks)))
	})
}

// expected is what the code behind a header or an entry is charged for. Of much code in one place, as of Go's
// functions, which are a loop around the places to resume at, an eighth is taken to run at a time: to charge for all
// would have the host asked every microsecond.
func expected(ticks int32) int32 {
	const whole = 256
	if ticks > whole {
		ticks = whole + (ticks-whole)/8
	}
	return min(ticks, Interval)
}

// enter takes the room of a frame, starts the block around the code, and asks the host where there is no room.
func (b *body) enter(out []byte) []byte {
	m := b.module
	out = appendU32(append(out, opGlobalGet), m.room())
	out = append(appendS(append(out, opI32Const), b.frame()), opI32Sub)
	out = appendU32(append(out, opLocalTee), b.scratch())
	out = appendU32(append(out, opGlobalSet), m.room())
	out = appendU32(append(out, opLocalGet), b.scratch())
	out = append(appendS(append(out, opI32Const), 0), opI32LtS, opIf, blockEmpty)
	out = appendU32(append(out, opCall), m.deep())
	out = append(out, opUnreachable, opEnd, opBlock)
	switch len(b.typ.results) {
	case 0:
		return append(out, blockEmpty)
	case 1:
		return append(out, b.typ.results[0])
	}
	return appendS(out, int64(m.newType(nil, b.typ.results)))
}

// leave gives the room of the frame back.
func (b *body) leave(out []byte) []byte {
	out = appendU32(append(out, opGlobalGet), b.module.room())
	out = append(appendS(append(out, opI32Const), b.frame()), opI32Add)
	return appendU32(append(out, opGlobalSet), b.module.room())
}

func (b *body) frame() int64 { return 1 + int64(b.locals)/frameSlots }

// charge takes an amount of at most Interval from the counter, and asks the host where it is spent. It leaves the
// stack as it was.
func (m *module) charge(out []byte, scratch uint32, amount func([]byte) []byte) []byte {
	out = appendU32(append(out, opGlobalGet), m.counter())
	out = append(amount(out), opI32Sub)
	out = appendU32(append(out, opLocalTee), scratch)
	out = appendU32(append(out, opGlobalSet), m.counter())
	out = appendU32(append(out, opLocalGet), scratch)
	out = append(appendS(append(out, opI32Const), 0), opI32LtS, opIf, blockEmpty)
	out = appendU32(append(out, opLocalGet), scratch)
	out = append(appendS(append(out, opI32Const), Interval), opI32Add)
	out = appendU32(append(out, opGlobalSet), m.counter())
	out = appendU32(append(out, opCall), m.spent())
	return append(out, opEnd)
}
