package engine

import (
	"context"
	"unicode/utf8"

	"github.com/tetratelabs/wazero/api"

	"github.com/inbox-wasm/inbox-wasm/abi"
)

// The connections that db runs a statement on.
const (
	ConnPool        int32 = 0 // the thread's own pool: a statement commits on its own
	ConnTransaction int32 = 1 // the delivery's transaction: what is written is kept with the ack alone
)

// Statements runs the statements of a guest about one message, on one of the connections above. The arguments
// are the text of a JSON array, nil where the guest gave none. The result is JSON: the answer where errno is 0,
// and what went wrong where it is Failed. It returns soon after ctx ends, with DeadlinePassed.
type Statements func(ctx context.Context, conn int32, sql string, args []byte) (result []byte, errno abi.Errno)

// db(conn, sql, sql_len, args, args_len: i32) -> i32
//
// Runs one statement and answers the length of its result, which the function result copies. An empty args is
// no arguments. BadArgument for an unknown conn and for text that is not UTF-8, NotAllowed where the handler is
// not granted the conn; Failed leaves the error as the result.
func db(c *call, m api.Memory, args []uint64) int64 {
	c.result = nil
	conn := int32(uint32(args[0]))
	sql, ok := view(m, args[1], args[2])
	if !ok || !utf8.Valid(sql) || conn != ConnPool && conn != ConnTransaction {
		return int64(abi.BadArgument)
	}
	arguments, ok := view(m, args[3], args[4])
	if !ok {
		return int64(abi.BadArgument)
	}
	if c.message.Statements == nil {
		return int64(abi.NotAllowed)
	}
	// A context of the statement's own, so that nothing that watches it outlives the call.
	ctx, cancel := context.WithCancel(c)
	defer cancel()
	result, errno := c.message.Statements(ctx, conn, string(sql), append([]byte(nil), arguments...))
	c.result = result
	if errno != 0 {
		return int64(errno)
	}
	return int64(len(result))
}

// result(buf, cap: i32) -> i32
//
// Copies the last result of a function with a side effect and answers its length; Absent where the last one left
// none. Asking again repeats nothing.
func result(c *call, m api.Memory, args []uint64) int64 {
	if c.result == nil {
		if _, ok := view(m, args[0], args[1]); !ok {
			return int64(abi.BadArgument)
		}
		return int64(abi.Absent)
	}
	return give(m, args[0], args[1], c.result)
}
