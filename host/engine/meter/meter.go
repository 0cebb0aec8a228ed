// Package meter rewrites a WebAssembly module so that it counts what it runs and asks its host before it goes on.
//
// Guest code is not preemptible: nothing ends a loop from outside but the loop itself. So a rewritten module has
// a private counter. The entry of a function and the header of a loop take from it what they are about to run,
// in ticks, and call the host when it is spent. A tick is about one instruction, whether its branch is taken or
// not, and eight of them where much code is behind one header; a bulk operation also costs its length, and a long
// one is done in pieces. Calls are counted in their depth, by the size of their frames, so that a recursion without
// an end is a call of the host too and not an overflow of the host's own stack.
//
// Everything else behaves as before. Function indices shift by the two imports that are added; what is added
// otherwise comes last. A module that was not valid does not become so, as far as it could use what was added:
// each index is held against what the module itself has.
package meter

import (
	"errors"
	"fmt"
	"strings"
)

// The import module that a rewritten module asks, and its functions: () -> ().
const (
	Module = "inbox_meter"
	Spent  = "spent" // the counter is spent; it has been filled up by Interval before the call
	Deep   = "deep"  // a call would be deeper than Depth; it must not return
)

// The exports, mutable i32, of what is counted: the ticks that are left until the next call of Spent, and the room
// for calls that is left. A trap leaves the room that its calls had taken; an instance that goes on after one is
// to be given Depth again.
const (
	Counter = Module + ".counter"
	Room    = Module + ".room"
)

// Interval is how many ticks lie between two calls of Spent: some ten microseconds of most code, and still a few
// milliseconds of code that waits for memory at every turn.
const Interval = 100_000

// Depth is the room for calls in units of a frame: one for a call and one for each frameSlots of its parameters
// and locals.
const Depth = 1 << 16

const frameSlots = 16

// ErrTaken is the error of a module that names what the rewriting adds.
var ErrTaken = errors.New("it uses the name " + Module + ", which is the host's own")

// ErrUnsupported is the error of a module that uses more than WebAssembly 2.0 and tail calls.
var ErrUnsupported = errors.New("not of WebAssembly 2.0")

// imports are how many functions are added in front of the module's own.
const imports = 2

// Rewrite gives a module its counter. The module has to be valid; the result is then, too. The bytes given are not
// changed, and the result shares none of them.
func Rewrite(wasm []byte) (rewritten []byte, err error) {
	defer func() {
		if f, ok := recover().(fault); ok {
			rewritten, err = nil, f.err
		}
	}()
	m := read(wasm)
	return m.write(), nil
}

// Bare gives a module without its custom sections, which say nothing of what it does. wazero makes room for as many
// names as one claims to hold.
func Bare(wasm []byte) (bare []byte, err error) {
	defer func() {
		if f, ok := recover().(fault); ok {
			bare, err = nil, f.err
		}
	}()
	r := &reader{buf: wasm}
	bare = append(make([]byte, 0, len(wasm)), r.bytes(8)...)
	for !r.done() {
		start := r.pos
		id := r.byte()
		content := r.bytes(r.u32())
		if id == sectionCustom {
			(&reader{buf: content}).text()
			continue
		}
		bare = append(bare, r.since(start)...)
	}
	return bare, nil
}

// fault is how the readers give up.
type fault struct{ err error }

func fail(format string, args ...any) {
	panic(fault{fmt.Errorf(format, args...)})
}

func unsupported(format string, args ...any) {
	panic(fault{fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), ErrUnsupported)})
}

// taken reports whether a name is of those that are added.
func taken(name string) bool { return strings.HasPrefix(name, Module) }
