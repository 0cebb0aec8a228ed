package inbox

import (
	"errors"
	"math"
	"time"

	"github.com/inbox-wasm/inbox-wasm/guest-sdk/go/internal/host"
)

// outcome is an error that decides what happens to the row.
type outcome struct {
	code     int32
	why      string
	delay    time.Duration
	hasDelay bool
}

func (o *outcome) Error() string { return o.why }

// The functions below make the errors that a handler returns to decide about its
// message. They may be wrapped: fmt.Errorf("parse: %w", inbox.DeadLetter("no id")) is a
// dead letter with the whole text as its reason.

// Retry delivers the message again at once, on its next attempt.
func Retry(why string) error { return &outcome{code: host.Retry, why: why} }

// RetryAfter delivers the message again after the delay, on its next attempt.
func RetryAfter(delay time.Duration, why string) error {
	return &outcome{code: host.RetryAfter, why: why, delay: delay, hasDelay: true}
}

// Snooze delivers the message again after the delay without spending the attempt: it
// is for messages that came too early, not for failures.
func Snooze(delay time.Duration, why string) error {
	return &outcome{code: host.Snooze, why: why, delay: delay, hasDelay: true}
}

// Drop finishes the message as an ack does, counted and logged apart.
func Drop(why string) error { return &outcome{code: host.Drop, why: why} }

// DeadLetter moves the message to the subscription's dead letter target.
func DeadLetter(why string) error { return &outcome{code: host.DeadLetter, why: why} }

// settle tells the host what an error says and returns its code.
func settle(err error) int32 {
	if err == nil {
		return host.Ack
	}
	if why := err.Error(); why != "" {
		setReason(why)
	}
	var decided *outcome
	if !errors.As(err, &decided) {
		// Without a delay the host takes the subscription's backoff.
		return host.RetryAfter
	}
	if decided.hasDelay {
		if code := host.SetRetryAfter(milliseconds(decided.delay)); code < 0 {
			panic(hostError("retry_after", code))
		}
	}
	return decided.code
}

// milliseconds rounds up, so that no message comes back before its time.
func milliseconds(d time.Duration) int64 {
	if d <= 0 {
		return 0
	}
	return (int64(d)-1)/int64(time.Millisecond) + 1
}

// duration saturates: the host says that there is no deadline with the largest number.
func duration(ms int64) time.Duration {
	if ms > math.MaxInt64/int64(time.Millisecond) {
		return math.MaxInt64
	}
	return time.Duration(ms) * time.Millisecond
}
