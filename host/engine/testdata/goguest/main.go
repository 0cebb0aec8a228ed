// Command goguest is a handler in Go without an SDK: the contract by hand, to test the host with what the Go
// toolchain makes of it.
package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"time"
	"unsafe"
)

//go:wasmimport inbox_v1 payload
func payload(buf unsafe.Pointer, capacity uint32) int32

//go:wasmimport inbox_v1 attempt
func attempt() int32

//go:wasmimport inbox_v1 reason
func reason(text unsafe.Pointer, length uint32) int32

//go:wasmimport inbox_v1 config
func config(key unsafe.Pointer, length uint32, buf unsafe.Pointer, capacity uint32) int32

//go:wasmimport inbox_v1 retry_after
func retryAfter(ms int64) int32

// order is what the payload holds.
type order struct {
	Do    string
	Items []string
}

// initialized shows that package initialisation ran, before anything else.
var initialized = time.Now()

// kept is what a handler that leaks would leave behind, wasted what the collector must take away.
var (
	kept   [][]byte
	wasted []byte
)

func explain(text string) {
	reason(unsafe.Pointer(unsafe.StringData(text)), uint32(len(text)))
}

//go:wasmexport inbox_init
func start() int32 {
	if initialized.IsZero() {
		return 1
	}
	const key = "refuse"
	var buf [16]byte
	if n := config(unsafe.Pointer(unsafe.StringData(key)), uint32(len(key)), unsafe.Pointer(&buf), uint32(len(buf))); n > 0 {
		explain("told to: " + string(buf[:n]))
		return 3
	}
	return 0
}

//go:wasmexport inbox_handle
func handle() int32 {
	n := payload(nil, 0)
	buf := make([]byte, n)
	if n > 0 {
		payload(unsafe.Pointer(&buf[0]), uint32(n))
	}
	var o order
	if err := json.Unmarshal(buf, &o); err != nil {
		explain(err.Error())
		return 4
	}
	switch o.Do {
	case "panic":
		panic("the order says so")
	case "exit":
		os.Exit(0)
	case "loop":
		for {
			rand.Int()
		}
	case "sleep":
		time.Sleep(10 * time.Second)
	case "nap":
		done := make(chan time.Time)
		go func() { time.Sleep(5 * time.Millisecond); done <- time.Now() }()
		if (<-done).Sub(initialized) < 5*time.Millisecond {
			return 1
		}
	case "random":
		explain(strconv.FormatUint(rand.Uint64(), 16))
	case "time":
		explain(strconv.FormatInt(time.Now().UnixNano(), 10))
	case "keep":
		for {
			kept = append(kept, make([]byte, 1<<20))
		}
	case "waste":
		wasted = make([]byte, 64<<10)
	case "later":
		retryAfter(int64(attempt()) * 1000)
		return 2
	case "say":
		fmt.Println("to stdout")
		fmt.Fprintln(os.Stderr, "to stderr")
	}
	return 0
}

func main() {}
