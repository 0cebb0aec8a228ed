// Package host is the contract inbox_v1 as Go sees it: what the host offers, and what
// it calls. Compiled for wasip1 its functions are the host's own; anywhere else they
// are those of the [Fake] that a test has put in place.
package host

// The outcomes that a handler returns.
const (
	Ack        int32 = 0
	Retry      int32 = 1
	RetryAfter int32 = 2
	Drop       int32 = 3
	DeadLetter int32 = 4
	Snooze     int32 = 5
)

// Absent is what a function returns for a value that does not exist or is NULL.
const Absent int32 = -1

// The entry points, which package inbox sets: each returns the code for the host.
var (
	HandleMessage func() int32
	Initialize    func() int32
	HandleBatch   func(count int32) int32 // set by package batch
)

// What package inbox does for package batch, set by the one for the other.
var (
	// Settle tells the host what an error says about the current message and returns its code.
	Settle func(error) int32
	// ExplainPanic is deferred to give a panic's value to the host.
	ExplainPanic func()
)

// Current is the message of a batch that the host's functions are about.
type Current struct {
	// Select makes message i the host's current one. It is a field so that only a handler of batches
	// imports the function.
	Select func(i int32) int32
	index  int32
}

// Use makes message i the current one, unless it is. The first is when a batch starts.
func (c *Current) Use(i int32) {
	if c.index == i {
		return
	}
	if code := c.Select(i); code < 0 {
		panic("inbox: the host refuses to go to another message of the batch")
	}
	c.index = i
}

// Functions is what a host offers, one method for each function of inbox_v1.
type Functions interface {
	Payload(buf []byte) int32
	Header(name string, buf []byte) int32
	Meta(buf []byte) int32
	Attempt() int32
	DeadlineMs() int64
	SetRetryAfter(ms int64) int32
	Reason(text string) int32
	Log(level int32, text string) int32
	LogEnabled(level int32) int32
	Config(key string, buf []byte) int32
	NowMs() int64
	Random(buf []byte) int32
	Message(i int32) int32
	Outcome(code int32) int32
	DB(conn int32, sql, args string) int32
	HTTP(request string) int32
	Publish(table, message string) int32
	Result(buf []byte) int32
}

// Fake is the host of a native program, which package inboxtest sets. Nothing asks it on
// wasip1, where it exists only so that tests compile.
var Fake Functions
