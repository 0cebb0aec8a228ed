package abi

import (
	"slices"
	"strings"
)

// ValueType is the type of a parameter or result.
type ValueType string

// The two types that the contract uses.
const (
	I32 ValueType = "i32"
	I64 ValueType = "i64"
)

// Mode says to which handlers a function is offered.
type Mode string

const (
	Always     Mode = "always"      // every handler
	Batch      Mode = "batch"       // handlers that export inbox_handle_batch
	SideEffect Mode = "side effect" // handlers whose declaration allows it
)

// Param is one parameter of a host function.
type Param struct {
	Name string
	Type ValueType
}

// Function is one host function. Each has exactly one result.
type Function struct {
	Name   string
	Params []Param
	Result ValueType
	Doc    string // one sentence
	Mode   Mode
	InInit bool // works inside inbox_init; the others answer NotAllowed there
}

// Signature is "(name, name_len: i32, ms: i64) -> i32" with every parameter's type spelled out.
func (f Function) Signature() string {
	params := make([]string, len(f.Params))
	for i, p := range f.Params {
		params[i] = p.Name + ": " + string(p.Type)
	}
	return Signature(params, f.Result)
}

// Signature writes a signature as this package's messages and documentation do.
func Signature(params []string, results ...ValueType) string {
	out := make([]string, len(results))
	for i, r := range results {
		out[i] = string(r)
	}
	s := "(" + strings.Join(params, ", ") + ") -> "
	if len(out) == 1 {
		return s + out[0]
	}
	return s + "(" + strings.Join(out, ", ") + ")"
}

// Functions returns the contract's host functions, in the order of its documentation.
func Functions() []Function {
	all := slices.Clone(functions)
	for i := range all {
		all[i].Params = slices.Clone(all[i].Params)
	}
	return all
}

// Lookup finds a host function by name.
func Lookup(name string) (Function, bool) {
	for _, f := range functions {
		if f.Name == name {
			f.Params = slices.Clone(f.Params)
			return f, true
		}
	}
	return Function{}, false
}

func i32s(names ...string) []Param {
	params := make([]Param, len(names))
	for i, name := range names {
		params[i] = Param{name, I32}
	}
	return params
}

var functions = []Function{
	{Name: "payload", Params: i32s("buf", "cap"), Result: I32, Mode: Always,
		Doc: "The payload's bytes; in row mode the row as a JSON object."},
	{Name: "header", Params: i32s("name", "name_len", "buf", "cap"), Result: I32, Mode: Always,
		Doc: "One header: a string as it is, any other value as JSON text."},
	{Name: "meta", Params: i32s("buf", "cap"), Result: I32, Mode: Always,
		Doc: "A JSON object with subscription, table, group, id, attempt, max_attempts, partition_key, headers and deadline_ms."},
	{Name: "attempt", Result: I32, Mode: Always,
		Doc: "The delivery's attempt, 0 where the table counts none."},
	{Name: "deadline_ms", Result: I64, Mode: Always,
		Doc: "The milliseconds left until the deadline, never below 0; the largest i64 where there is none."},
	{Name: "message", Params: i32s("i"), Result: I32, Mode: Batch,
		Doc: "Makes message i the current one for every function here."},
	{Name: "outcome", Params: i32s("code"), Result: I32, Mode: Batch,
		Doc: "Sets the current message's outcome."},
	{Name: "retry_after", Params: []Param{{"ms", I64}}, Result: I32, Mode: Always,
		Doc: "The delay for the outcomes retry_after and snooze, of the current message."},
	{Name: "reason", Params: i32s("ptr", "len"), Result: I32, Mode: Always, InInit: true,
		Doc: "Why it failed: logged, counted, kept in the table's error column."},
	{Name: "log", Params: i32s("level", "ptr", "len"), Result: I32, Mode: Always, InInit: true,
		Doc: "Writes one line to the host's log, with the subscription, the row's id and the attempt."},
	{Name: "log_enabled", Params: i32s("level"), Result: I32, Mode: Always, InInit: true,
		Doc: "1 where a line of this level would be written, else 0."},
	{Name: "config", Params: i32s("key", "key_len", "buf", "cap"), Result: I32, Mode: Always, InInit: true,
		Doc: "One of the handler's own settings."},
	{Name: "now_ms", Result: I64, Mode: Always, InInit: true,
		Doc: "Milliseconds since 1970-01-01T00:00:00Z."},
	{Name: "random", Params: i32s("ptr", "len"), Result: I32, Mode: Always, InInit: true,
		Doc: "Fills memory with random bytes that are fit for cryptography."},
	{Name: "db", Params: i32s("conn", "sql", "sql_len", "args", "args_len"), Result: I32, Mode: SideEffect,
		Doc: "Runs one statement with a JSON array of arguments, on the thread's pool (conn 0) or the delivery's transaction (conn 1), and returns the result's length."},
	{Name: "publish", Params: i32s("table", "table_len", "msg", "msg_len"), Result: I32, Mode: SideEffect,
		Doc: "Writes a row, given as JSON, into a declared table."},
	{Name: "http", Params: i32s("req", "req_len"), Result: I32, Mode: SideEffect,
		Doc: "Sends one request, given as JSON, and returns the result's length."},
	{Name: "result", Params: i32s("buf", "cap"), Result: I32, Mode: SideEffect,
		Doc: "Copies the last result of a function with a side effect."},
}
