package engine

import (
	"context"
	"unicode/utf8"

	"github.com/tetratelabs/wazero/api"

	"github.com/inbox-wasm/inbox-wasm/abi"
)

// Publications writes a row of a guest's into a declared table: the message is the text of a JSON object. The result is
// JSON that says what went wrong where errno is Failed. It returns soon after ctx ends, with DeadlinePassed.
type Publications func(ctx context.Context, table string, message []byte) (result []byte, errno abi.Errno)

// publish(table, table_len, msg, msg_len: i32) -> i32
//
// Writes a row into a declared table and answers 0. BadArgument for what is no message of that table, NotAllowed for a
// table that the handler is not granted, TooLarge once the message has published as many as its limit allows;
// Failed leaves the error as the result.
func publish(c *call, m api.Memory, args []uint64) int64 {
	c.result = nil
	table, errno := name(m, args[0], args[1])
	text, ok := view(m, args[2], args[3])
	switch {
	case !ok || errno == abi.BadArgument || !utf8.Valid(text):
		return int64(abi.BadArgument)
	case c.message.Publish == nil || errno != 0:
		return int64(abi.NotAllowed)
	case c.published >= c.mayPublish*len(c.spoken):
		return int64(abi.TooLarge)
	}
	c.published++
	ctx, cancel := context.WithCancel(c)
	defer cancel()
	c.result, errno = c.message.Publish(ctx, string(table), append([]byte(nil), text...))
	return int64(errno)
}
