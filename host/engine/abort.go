package engine

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"unicode/utf16"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/inbox-wasm/inbox-wasm/abi"
)

// Modules of AssemblyScript import one function that is not the contract's, unless they are built without it: where an
// error that is thrown, a failed assertion and a null that is no null end up.
const (
	abortModule   = "env"
	abortFunction = "abort"
)

// abortType is (message, file_name, line, column: i32) -> ().
var abortType = funcType{params: []abi.ValueType{abi.I32, abi.I32, abi.I32, abi.I32}}

// isAbort reports whether an import is that function.
func (p *parsed) isAbort(i moduleImport) bool {
	t, ok := p.typeAt(i.typ)
	return i.module == abortModule && i.name == abortFunction && i.kind == kindFunc && ok &&
		slices.Equal(t.params, abortType.params) && len(t.results) == 0
}

var errAborted = errors.New("the guest aborted")

// instantiateAbort offers the function. What the guest says is the reason, and the call a trap.
func instantiateAbort(ctx context.Context, r wazero.Runtime) error {
	params := make([]api.ValueType, len(abortType.params))
	for i, t := range abortType.params {
		params[i] = wasmType(t)
	}
	_, err := r.NewHostModuleBuilder(abortModule).NewFunctionBuilder().
		WithGoModuleFunction(api.GoModuleFunc(func(ctx context.Context, m api.Module, args []uint64) {
			text := fmt.Sprintf("abort: %s at %s:%d:%d", managedString(m.Memory(), args[0]), managedString(m.Memory(), args[1]), uint32(args[2]), uint32(args[3]))
			callOf(ctx).said.reason = sanitise([]byte(text), MaxReason)
			panic(errAborted)
		}), params, nil).Export(abortFunction).Instantiate(ctx)
	return err
}

// managedString reads a string of AssemblyScript's: UTF-16 behind a header whose last field is the length in bytes
// (AssemblyScript documentation, "Memory Layout & Management"). A pointer that leads nowhere reads as nothing.
func managedString(m api.Memory, pointer uint64) string {
	at := uint32(pointer)
	if at < 4 {
		return ""
	}
	length, ok := m.ReadUint32Le(at - 4)
	if !ok {
		return ""
	}
	bytes, ok := m.Read(at, min(length, MaxReason)&^1)
	if !ok {
		return ""
	}
	units := make([]uint16, len(bytes)/2)
	for i := range units {
		units[i] = binary.LittleEndian.Uint16(bytes[2*i:])
	}
	return string(utf16.Decode(units))
}
