package engine

import (
	"strconv"
	"strings"
	"time"

	"github.com/inbox-wasm/inbox-wasm/abi"
)

// Failure is why a call has no outcome. A failure is never an ack.
type Failure int

const (
	None        Failure = iota // the guest returned an outcome
	Trap                       // the guest broke, or could not be called
	Timeout                    // the message's own deadline passed
	Exit                       // the guest called proc_exit, with whatever code
	BadOutcome                 // the guest returned a number that is no outcome; the instance is fine
	Interrupted                // the caller's context was done: not the guest's fault
)

func (f Failure) String() string {
	if names := [...]string{"none", "trap", "timeout", "exit", "bad outcome", "interrupted"}; f >= 0 && int(f) < len(names) {
		return names[f]
	}
	return "failure " + strconv.Itoa(int(f))
}

// Result of one message.
type Result struct {
	// Code is the outcome where Failure is None. With BadOutcome it is the number that the guest returned,
	// with any other failure NoOutcome: in neither case can it be mistaken for an ack.
	Code    abi.Code
	Failure Failure
	// Call is how the call itself ended, though a message of a batch may have an outcome all the same.
	Call Failure

	Delay    time.Duration // what retry_after set, for RetryAfter and Snooze
	HasDelay bool

	Reason  string        // the guest's own, after a failure preceded by its cause; at most MaxReason bytes each
	Start   time.Time     // of the call; zero where there was none
	Elapsed time.Duration // guest and host functions together
	Memory  int64         // of the instance, in bytes, after the call
	Ticks   int64         // what the call has run, of all its messages: about one an instruction (package meter)

	// Reusable is false where the instance must be closed and replaced: after every failure but BadOutcome,
	// after a growth of memory that the limit refused, and where the deadline or an interruption met the call
	// at its very end.
	Reusable bool
}

// NoOutcome is a failure's code.
const NoOutcome abi.Code = -1

// failed builds the reason out of the host's cause and the guest's own words.
func failed(failure Failure, cause, guest string) Result {
	if guest != "" {
		cause += "; reason: " + guest
	}
	return Result{Code: NoOutcome, Failure: failure, Call: failure, Reason: cause}
}

// firstLine is what happened, without where: wazero puts the step in front and appends the stack.
func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	if _, what, ok := strings.Cut(s, "wasm error: "); ok {
		s = what
	}
	return strings.TrimSuffix(s, " (recovered by wazero)")
}
