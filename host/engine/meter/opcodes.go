package meter

// The instructions that the rewriting knows by name ("Binary Format", Instructions, of the WebAssembly 2.0
// specification; tail calls as their proposal has them).
const (
	opUnreachable        = 0x00
	opBlock              = 0x02
	opLoop               = 0x03
	opIf                 = 0x04
	opElse               = 0x05
	opEnd                = 0x0b
	opBr                 = 0x0c
	opBrIf               = 0x0d
	opBrTable            = 0x0e
	opReturn             = 0x0f
	opCall               = 0x10
	opCallIndirect       = 0x11
	opReturnCall         = 0x12
	opReturnCallIndirect = 0x13
	opSelect             = 0x1b
	opSelectTyped        = 0x1c
	opLocalGet           = 0x20
	opLocalSet           = 0x21
	opLocalTee           = 0x22
	opGlobalGet          = 0x23
	opGlobalSet          = 0x24
	opMemorySize         = 0x3f
	opI32Const           = 0x41
	opI64Const           = 0x42
	opF32Const           = 0x43
	opF64Const           = 0x44
	opI32LtS             = 0x48
	opI32LtU             = 0x49
	opI32GtU             = 0x4b
	opI32LeU             = 0x4d
	opI64GtU             = 0x56
	opI32Add             = 0x6a
	opI32Sub             = 0x6b
	opI32ShrU            = 0x76
	opI64Add             = 0x7c
	opI64Shl             = 0x86
	opI64ExtendI32U      = 0xad
	opRefNull            = 0xd0
	opRefFunc            = 0xd2
	opMisc               = 0xfc
	opVector             = 0xfd

	miscMemoryInit = 8
	miscMemoryCopy = 10
	miscMemoryFill = 11
	miscTableInit  = 12
	miscTableCopy  = 14
	miscTableGrow  = 15
	miscTableFill  = 17

	blockEmpty    = 0x40
	typeI32       = 0x7f
	typeFuncref   = 0x70
	typeExternref = 0x6f
	typeFunc      = 0x60
)

// skipOperands passes over the immediate operands of an instruction that the rewriting leaves as it is.
func (r *reader) skipOperands(op byte) {
	switch {
	case op == opUnreachable, op == 0x01, op == opElse, op == opEnd, op == opReturn, op == 0x1a, op == opSelect, op == 0xd1:
	case op >= 0x45 && op <= 0xc4: // numeric
	case op == opBr, op == opBrIf, op == 0x25, op == 0x26, op == opRefNull:
		r.skipLEB(5)
	case op == opBrTable:
		r.vector(func() { r.skipLEB(5) })
		r.skipLEB(5)
	case op == opSelectTyped:
		r.vector(func() { r.valueType() })
	case op >= 0x28 && op <= 0x3e: // loads and stores
		r.skipMemory()
	case op == opMemorySize, op == 0x40:
		r.byte()
	case op == opI32Const:
		r.skipLEB(5)
	case op == opI64Const:
		r.skipLEB(10)
	case op == opF32Const:
		r.bytes(4)
	case op == opF64Const:
		r.bytes(8)
	case op == opVector:
		r.skipVector(r.u32())
	default:
		unsupported("instruction 0x%02x", op)
	}
}

// skipMemory passes over the alignment and the offset of a load or store.
func (r *reader) skipMemory() {
	r.skipLEB(5)
	r.skipLEB(5)
}

func (r *reader) skipVector(op uint32) {
	switch {
	case op <= 11, op == 92, op == 93: // loads and stores
		r.skipMemory()
	case op == 12, op == 13: // a constant, and a shuffle
		r.bytes(16)
	case op >= 21 && op <= 34: // lanes
		r.byte()
	case op >= 84 && op <= 91: // loads and stores of a lane
		r.skipMemory()
		r.byte()
	case op <= 255:
	default:
		unsupported("vector instruction %d", op)
	}
}

// skipMisc passes over the operands of an instruction behind the prefix 0xfc, but for memory.init.
func (r *reader) skipMisc(op uint32) {
	switch op {
	case 0, 1, 2, 3, 4, 5, 6, 7: // conversions
	case 9, 13, miscMemoryFill, miscTableGrow, 16, miscTableFill:
		r.skipLEB(5)
	case miscMemoryCopy, miscTableInit, miscTableCopy:
		r.skipLEB(5)
		r.skipLEB(5)
	default:
		unsupported("instruction 0xfc %d", op)
	}
}
