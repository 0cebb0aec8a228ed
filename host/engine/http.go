package engine

import (
	"context"

	"github.com/tetratelabs/wazero/api"

	"github.com/inbox-wasm/inbox-wasm/abi"
)

// Requests sends a request of a guest's, the text of a JSON object. The result is JSON: the response where errno
// is 0, and what went wrong where it is Failed. It returns soon after ctx ends, with DeadlinePassed.
type Requests func(ctx context.Context, request []byte) (result []byte, errno abi.Errno)

// MaxRequest is how long the text of a request may be, in bytes.
const MaxRequest = 16 << 20

// http(req, req_len: i32) -> i32
//
// Sends one request and answers the length of its result, which the function result copies. BadArgument for what is
// no request, NotAllowed for an origin or an address that the handler does not allow, TooLarge for a request
// above MaxRequest or a response above its limit; Failed leaves the error as the result.
func httpRequest(c *call, m api.Memory, args []uint64) int64 {
	c.result = nil
	text, ok := view(m, args[0], args[1])
	if !ok {
		return int64(abi.BadArgument)
	}
	send := c.http
	if c.message.HTTP != nil {
		send = c.message.HTTP
	}
	if send == nil {
		return int64(abi.NotAllowed)
	}
	if len(text) > MaxRequest {
		return int64(abi.TooLarge)
	}
	// A context of the request's own, so that nothing that watches it outlives the call.
	ctx, cancel := context.WithCancel(c)
	defer cancel()
	result, errno := send(ctx, append([]byte(nil), text...))
	c.result = result
	if errno != 0 {
		return int64(errno)
	}
	return int64(len(result))
}
