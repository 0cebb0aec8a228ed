package engine

import (
	"math"

	"github.com/tetratelabs/wazero/api"

	"github.com/inbox-wasm/inbox-wasm/abi"
)

// view is the guest's memory at [ptr, ptr+length), both read as unsigned. It is the memory itself: valid
// until the guest runs again, and copied where it is kept. A length of 0 touches nothing, so that any pointer
// will do: languages disagree about the pointer of an empty string.
func view(m api.Memory, ptr, length uint64) ([]byte, bool) {
	if uint32(length) == 0 {
		return nil, true
	}
	return m.Read(uint32(ptr), uint32(length)) // sums in 64 bits, so that it cannot overflow
}

// give writes a value to (buf, cap) if the whole of it fits, and answers its length. The buffer is checked
// even where nothing is written, so that a guest's wrong pointer does not depend on the value to be found.
func give[T []byte | string](m api.Memory, buf, capacity uint64, value T) int64 {
	into, ok := view(m, buf, capacity)
	if !ok {
		return int64(abi.BadArgument)
	}
	if len(value) > math.MaxInt32 {
		return int64(abi.TooLarge)
	}
	if len(value) <= len(into) {
		copy(into, value)
	}
	return int64(len(value))
}
