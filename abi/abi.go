// Package abi is the contract between a host and its guests, version 1, and nothing else: what a module
// exports, the codes that it returns, and the functions that it may import. The engine registers its host
// functions from this table, and documentation and SDK tests read it, so that the three cannot drift apart.
//
// Every pointer and length is an i32 into the guest's memory, read as unsigned. A function that takes
// (buf, cap) writes only if the whole value fits in cap bytes and always returns the value's full length, so
// that cap = 0 asks for the length. A negative result is an [Errno]. A length of 0 touches no memory, whatever
// its pointer.
package abi

import "strconv"

// Module is the import module of the host functions. The name is the version.
const Module = "inbox_v1"

// Version of the contract.
const Version = 1

// What a module exports.
const (
	ExportMemory      = "memory"             // the linear memory
	ExportHandle      = "inbox_handle"       // () -> i32: handles the current message, returns its outcome
	ExportHandleBatch = "inbox_handle_batch" // (count: i32) -> i32: handles count messages
	ExportInit        = "inbox_init"         // () -> i32, optional: non-zero refuses the instance
	ExportInitialize  = "_initialize"        // () -> (), optional: the WASI reactor start, called first
	ExportStart       = "_start"             // () -> (): a WASI command, where no inbox_handle is exported
)

// Code is an outcome. Any other number than these is a failure of the handler, never an ack.
type Code int32

// The outcomes of a message.
const (
	Ack        Code = 0 // finished
	Retry      Code = 1 // deliver again at once
	RetryAfter Code = 2 // deliver again after the delay that retry_after set, or the subscription's backoff
	Drop       Code = 3 // finished without success, counted apart
	DeadLetter Code = 4 // move to the subscription's dead letter target
	Snooze     Code = 5 // like RetryAfter, without spending the attempt
)

var codes = [...]string{"ack", "retry", "retry_after", "drop", "dead_letter", "snooze"}

// Known tells whether c is one of the outcomes.
func (c Code) Known() bool { return c >= 0 && int(c) < len(codes) }

func (c Code) String() string {
	if c.Known() {
		return codes[c]
	}
	return "code " + strconv.Itoa(int(c))
}

// Errno is a host function's negative result.
type Errno int32

// What a host function answers instead of a length or 0.
const (
	Absent         Errno = -1 // there is no such value, or it is SQL NULL
	BadArgument    Errno = -2 // a pointer, UTF-8, JSON, a number out of range, an unknown name
	NotAllowed     Errno = -3 // not for this handler, or not now
	Failed         Errno = -4 // it was tried and failed; where the function has a result, that holds the error
	DeadlinePassed Errno = -5 // the delivery's deadline has passed
	TooLarge       Errno = -6 // over a size limit
)

var errnos = [...]string{"absent", "bad argument", "not allowed", "failed", "deadline passed", "too large"}

func (e Errno) String() string {
	if i := -int64(e) - 1; i >= 0 && i < int64(len(errnos)) {
		return errnos[i]
	}
	return "error " + strconv.Itoa(int(e))
}

// Level is a log level, as log and log_enabled take it.
type Level int32

// The log levels.
const (
	LevelTrace Level = 0
	LevelDebug Level = 1
	LevelInfo  Level = 2
	LevelWarn  Level = 3
	LevelError Level = 4
)

var levels = [...]string{"trace", "debug", "info", "warn", "error"}

// Known tells whether l is one of the levels.
func (l Level) Known() bool { return l >= 0 && int(l) < len(levels) }

func (l Level) String() string {
	if l.Known() {
		return levels[l]
	}
	return "level " + strconv.Itoa(int(l))
}
