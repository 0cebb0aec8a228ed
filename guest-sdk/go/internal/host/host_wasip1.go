package host

import "unsafe"

// InboxHandle is what the host calls for each message.
//
//go:wasmexport inbox_handle
func InboxHandle() int32 { return HandleMessage() }

// InboxInit is what the host calls once, before the first message.
//
//go:wasmexport inbox_init
func InboxInit() int32 { return Initialize() }

// The linker imports only what the program can reach, so that a handler needs no
// permission for what it does not use. That holds as long as each function below is
// called directly, and not through a variable or an interface.

// Payload copies the payload where it fits and returns its length.
func Payload(buf []byte) int32 {
	return payload(unsafe.Pointer(unsafe.SliceData(buf)), uint32(len(buf)))
}

//go:wasmimport inbox_v1 payload
//go:noescape
func payload(buf unsafe.Pointer, capacity uint32) int32

// Header copies one header where it fits and returns its length.
func Header(name string, buf []byte) int32 {
	return header(name, unsafe.Pointer(unsafe.SliceData(buf)), uint32(len(buf)))
}

//go:wasmimport inbox_v1 header
//go:noescape
func header(name string, buf unsafe.Pointer, capacity uint32) int32

// Meta copies the delivery's JSON description where it fits and returns its length.
func Meta(buf []byte) int32 {
	return meta(unsafe.Pointer(unsafe.SliceData(buf)), uint32(len(buf)))
}

//go:wasmimport inbox_v1 meta
//go:noescape
func meta(buf unsafe.Pointer, capacity uint32) int32

// Attempt is the delivery's attempt, 0 where the table counts none.
//
//go:wasmimport inbox_v1 attempt
func Attempt() int32

// DeadlineMs is the time left in milliseconds.
//
//go:wasmimport inbox_v1 deadline_ms
func DeadlineMs() int64

// Message makes message i of a batch the current one.
//
//go:wasmimport inbox_v1 message
func Message(i int32) int32

// Outcome sets the outcome of a batch's current message.
//
//go:wasmimport inbox_v1 outcome
func Outcome(code int32) int32

// SetRetryAfter sets the delay for the outcomes RetryAfter and Snooze.
//
//go:wasmimport inbox_v1 retry_after
func SetRetryAfter(ms int64) int32

// Reason says why the message failed.
//
//go:wasmimport inbox_v1 reason
//go:noescape
func Reason(text string) int32

// Log writes one line.
//
//go:wasmimport inbox_v1 log
//go:noescape
func Log(level int32, text string) int32

// LogEnabled is 1 where a line of the level would be written.
//
//go:wasmimport inbox_v1 log_enabled
func LogEnabled(level int32) int32

// Config copies one setting where it fits and returns its length.
func Config(key string, buf []byte) int32 {
	return config(key, unsafe.Pointer(unsafe.SliceData(buf)), uint32(len(buf)))
}

//go:wasmimport inbox_v1 config
//go:noescape
func config(key string, buf unsafe.Pointer, capacity uint32) int32

// NowMs is the host's time in milliseconds since 1970.
//
//go:wasmimport inbox_v1 now_ms
func NowMs() int64

// Random fills the buffer with random bytes.
func Random(buf []byte) int32 {
	return random(unsafe.Pointer(unsafe.SliceData(buf)), uint32(len(buf)))
}

//go:wasmimport inbox_v1 random
//go:noescape
func random(buf unsafe.Pointer, length uint32) int32

// DB runs a statement and returns the length of its result.
//
//go:wasmimport inbox_v1 db
//go:noescape
func DB(conn int32, sql, args string) int32

// HTTP sends a request and returns the length of its result.
//
//go:wasmimport inbox_v1 http
//go:noescape
func HTTP(request string) int32

// Publish writes a row into a table.
//
//go:wasmimport inbox_v1 publish
//go:noescape
func Publish(table, message string) int32

// Result copies the last result where it fits and returns its length.
func Result(buf []byte) int32 {
	return result(unsafe.Pointer(unsafe.SliceData(buf)), uint32(len(buf)))
}

//go:wasmimport inbox_v1 result
//go:noescape
func result(buf unsafe.Pointer, capacity uint32) int32
