package engine

import (
	"context"
	"encoding/binary"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/inbox-wasm/inbox-wasm/abi"
)

func TestOutcomes(t *testing.T) {
	i := faces(t, Settings{})
	for code := abi.Ack; code <= abi.Snooze; code++ {
		r := i.Handle(t.Context(), face(string(rune('0'+code))))
		if r.Code != code || r.Failure != None || !r.Reusable || r.HasDelay || r.Reason != "" {
			t.Errorf("%s: %+v", code, r)
		}
		if r.Memory != 2*pageSize || i.Memory() != r.Memory {
			t.Errorf("%s: memory %d", code, r.Memory)
		}
	}
}

func TestDelayAndReasonBelongToTheirMessage(t *testing.T) {
	i := faces(t, Settings{})
	const reason = "because\uFFFD of \uFFFD this"
	for code, delay := range map[abi.Code]time.Duration{
		abi.RetryAfter: 1500 * time.Millisecond, abi.Snooze: 1500 * time.Millisecond, abi.Ack: 0, abi.Retry: 0, abi.DeadLetter: 0,
	} {
		r := i.Handle(t.Context(), face("d"+string(rune(code))))
		if r.Code != code || r.Delay != delay || r.HasDelay != (delay > 0) || r.Reason != reason {
			t.Errorf("%s: %+v", code, r)
		}
	}
	if r := i.Handle(t.Context(), face("2")); r.HasDelay || r.Delay != 0 || r.Reason != "" {
		t.Errorf("the next message inherited something: %+v", r)
	}
}

func TestBadOutcomeIsAFailureThatLeavesTheInstance(t *testing.T) {
	i := faces(t, Settings{})
	r := i.Handle(t.Context(), face("7"))
	if r.Failure != BadOutcome || r.Code != 77 || r.Reason != "inbox_handle returned 77, which is no outcome; reason: because" {
		t.Errorf("%+v", r)
	}
	if r := i.Handle(t.Context(), face("/")); r.Failure != BadOutcome || r.Code != -1 {
		t.Errorf("-1: %+v", r)
	}
	if r := i.Handle(t.Context(), face("0")); r.Failure != None || !r.Reusable {
		t.Errorf("after a bad outcome: %+v", r)
	}
}

// mustBeDiscarded checks what holds after every abnormal end.
func mustBeDiscarded(t *testing.T, i *Instance, r Result) {
	t.Helper()
	if r.Reusable || r.Code != NoOutcome || r.Code.Known() {
		t.Errorf("%+v", r)
	}
	again := i.Handle(t.Context(), face("0"))
	if again.Failure != Trap || again.Reusable || again.Code != NoOutcome || !strings.HasPrefix(again.Reason, "the instance cannot be used: ") {
		t.Errorf("a call after it: %+v", again)
	}
}

func TestTraps(t *testing.T) {
	for payload, want := range map[string]string{
		"t": "unreachable",
		"e": "unreachable; reason: because\uFFFD of \uFFFD this",
		"m": "out of bounds memory access",
		"r": "the calls of the guest go too deep",
	} {
		i := faces(t, Settings{})
		r := i.Handle(t.Context(), face(payload))
		if r.Failure != Trap || r.Reason != want {
			t.Errorf("%s: %+v", payload, r)
		}
		mustBeDiscarded(t, i, r)
	}
}

// A Go panic inside wazero's own WASI is a trap like any other: its length is 2^28 times 48, over 32 bits.
func TestPanicInsideWASIIsATrap(t *testing.T) {
	i := faces(t, Settings{})
	r := i.Handle(t.Context(), face("p"))
	if r.Failure != Trap || strings.Contains(r.Reason, "\n") || r.Reason == "" {
		t.Errorf("%+v", r)
	}
	mustBeDiscarded(t, i, r)
}

// waPC counted exit code 0 as success (wapc-go#67); wazero reports one as an error (wazero#2352).
func TestCase33_ProcExitZeroIsNotAnAck(t *testing.T) {
	for payload, want := range map[string]string{"x": "proc_exit(0)", "y": "proc_exit(3)"} {
		i := faces(t, Settings{})
		r := i.Handle(t.Context(), face(payload))
		if r.Failure != Exit || r.Reason != want {
			t.Errorf("%s: %+v", payload, r)
		}
		mustBeDiscarded(t, i, r)
	}
}

// The engine uses an exit code of its own for a deadline; a guest that exits with it has not met one.
func TestExitCodeCannotPoseAsTheDeadline(t *testing.T) {
	i := faces(t, Settings{})
	m := face("z")
	m.Timeout = time.Minute
	if r := i.Handle(t.Context(), m); r.Failure != Exit || r.Reason != "proc_exit(4026531839)" {
		t.Errorf("%+v", r)
	}
}

func TestDeadlineEndsLoopAndSleep(t *testing.T) {
	for _, payload := range []string{"l", "s"} {
		i := faces(t, Settings{})
		m := face(payload)
		m.Timeout = 50 * time.Millisecond
		r := i.Handle(t.Context(), m)
		if r.Failure != Timeout || r.Reason != "the deadline passed" {
			t.Errorf("%s: %+v", payload, r)
		}
		if r.Elapsed < m.Timeout || r.Elapsed > 5*time.Second {
			t.Errorf("%s: ended after %s", payload, r.Elapsed)
		}
		mustBeDiscarded(t, i, r)
	}
}

// wazero's own deadline does not see call trees without loops until they return (wazero#2466).
func TestCase31_CallTreePastTheDeadlineIsATimeout(t *testing.T) {
	i := faces(t, Settings{})
	m := face("f")
	m.Timeout = time.Millisecond
	r := i.Handle(t.Context(), m)
	if r.Failure != Timeout {
		t.Errorf("%+v", r)
	}
	mustBeDiscarded(t, i, r)
}

func TestInterruptionIsNotTheGuestsFault(t *testing.T) {
	for _, payload := range []string{"l", "s"} {
		i := faces(t, Settings{})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(20*time.Millisecond, cancel)
		m := face(payload)
		m.Timeout = time.Minute
		r := i.Handle(ctx, m)
		if r.Failure != Interrupted || r.Reason != "interrupted" || r.Elapsed > 5*time.Second {
			t.Errorf("%s: %+v", payload, r)
		}
		mustBeDiscarded(t, i, r)
	}
}

// A caller's own deadline is an interruption too: the message's is the only one that the guest answers for.
func TestCallersDeadlineIsAnInterruption(t *testing.T) {
	i := faces(t, Settings{})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if r := i.Handle(ctx, face("l")); r.Failure != Interrupted {
		t.Errorf("%+v", r)
	}
}

func TestDoneContextDoesNotCallTheGuest(t *testing.T) {
	i := faces(t, Settings{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 100 {
		if r := i.Handle(ctx, face("t")); r.Failure != Interrupted || !r.Reusable || r.Code != NoOutcome {
			t.Fatalf("%+v", r)
		}
	}
	if r := i.Handle(t.Context(), face("0")); r.Failure != None || !r.Reusable {
		t.Errorf("afterwards: %+v", r)
	}
}

// cancelling cancels its caller's context in the middle of the call, and returns when the call knows.
type cancelling struct {
	slog.Handler
	cancel context.CancelFunc
	known  func() <-chan struct{}
}

func (c *cancelling) Enabled(context.Context, slog.Level) bool { return true }

func (c *cancelling) Handle(context.Context, slog.Record) error {
	c.cancel()
	<-c.known()
	return nil
}

// A guest that finishes just as it is interrupted may have its outcome; its instance may be closed already,
// and must not get another message.
func TestInterruptionAtTheVeryEnd(t *testing.T) {
	for range 50 {
		handler := &cancelling{Handler: slog.DiscardHandler}
		i := faces(t, Settings{Log: slog.New(handler)})
		ctx, cancel := context.WithCancel(t.Context())
		handler.cancel, handler.known = cancel, func() <-chan struct{} { return i.call.done }
		r := i.Handle(ctx, face("o"))
		if r.Reusable || (r.Failure != None || r.Code != abi.Ack) && (r.Failure != Interrupted || r.Code != NoOutcome) {
			t.Fatalf("%+v", r)
		}
		if again := i.Handle(t.Context(), face("0")); again.Failure != Trap || again.Reusable {
			t.Fatalf("a call after it: %+v", again)
		}
	}
}

// A context per delivery, cancelled after it, must not reach the next delivery on the instance.
func TestAnEarlierContextEndsNothing(t *testing.T) {
	i := faces(t, Settings{})
	var earlier []context.CancelFunc
	for n := range 200 {
		ctx, cancel := context.WithCancel(t.Context())
		earlier = append(earlier, cancel)
		m := face("0")
		m.Timeout = time.Minute
		if n > 0 {
			go earlier[n-1]()
		}
		if r := i.Handle(ctx, m); r.Failure != None || !r.Reusable {
			t.Fatalf("call %d: %+v", n, r)
		}
	}
	earlier[len(earlier)-1]()
}

// Deadlines that meet the end of the call leave either an outcome and a good instance, or a timeout; never an
// instance that claims to be reusable and fails the next message.
func TestDeadlineAtTheVeryEnd(t *testing.T) {
	m := load(t, newEngine(t, Options{}), "faces", wat(t, "faces"), Limits{})
	i, err := m.NewInstance(t.Context(), Settings{})
	if err != nil {
		t.Fatal(err)
	}
	var timeouts int
	for n := range 3000 {
		message := face("0")
		message.Timeout = time.Duration(n%300) * 100 * time.Nanosecond
		r := i.Handle(t.Context(), message)
		switch {
		case r.Failure == None && r.Code == abi.Ack && r.Reusable:
			continue
		case r.Failure == Timeout && !r.Reusable:
			timeouts++
		default:
			t.Fatalf("call %d: %+v", n, r)
		}
		if err := i.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if i, err = m.NewInstance(t.Context(), Settings{}); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d of 3000 timed out", timeouts)
	if err := i.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestMemoryGrowsToItsLimit(t *testing.T) {
	const limit = 3<<20 + 1000 // rounds down to 48 pages
	m := load(t, newEngine(t, Options{}), "faces", wat(t, "faces"), Limits{Memory: limit})
	i := instance(t, m, Settings{})
	r := i.Handle(t.Context(), face("g"))
	if r.Failure != None || r.Code != abi.Ack || r.Memory != 3<<20 {
		t.Errorf("%+v", r)
	}
	if r.Reusable {
		t.Error("an instance whose memory was refused may be in any state: it must be replaced")
	}
	if pages, ok := i.mod.Memory().ReadUint32Le(4096); !ok || pages != 48 {
		t.Errorf("the guest sees %d pages", pages)
	}
	i = instance(t, m, Settings{})
	if r := i.Handle(t.Context(), face("h")); r.Failure != Trap || r.Reason != "unreachable (memory was refused at its limit of 3 MiB)" {
		t.Errorf("a guest that breaks for want of memory: %+v", r)
	}
}

// Memory moves when it grows, and takes its contents along.
func TestLargeMemoryKeepsItsContents(t *testing.T) {
	memory := linearMemory{limit: 10 * pageSize}
	memory.Allocate(pageSize, 10*pageSize)
	buf := memory.Reallocate(pageSize)
	binary.LittleEndian.PutUint32(buf[pageSize-4:], 0xfeedface)
	for pages := uint64(2); pages <= 10; pages++ {
		buf = memory.Reallocate(pages * pageSize)
		if len(buf) != int(pages*pageSize) || cap(buf) > 10*pageSize {
			t.Fatalf("%d pages: %d of %d bytes", pages, len(buf), cap(buf))
		}
		if binary.LittleEndian.Uint32(buf[pageSize-4:]) != 0xfeedface || buf[len(buf)-1] != 0 {
			t.Fatalf("%d pages: the contents changed", pages)
		}
	}
	if memory.refused || memory.Reallocate(11*pageSize) != nil || !memory.refused || memory.size() != 10*pageSize {
		t.Errorf("past the limit: refused %v, size %d", memory.refused, memory.size())
	}
}

func TestCallAfterClose(t *testing.T) {
	i := faces(t, Settings{})
	for range 2 {
		if err := i.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if r := i.Handle(t.Context(), face("0")); r.Failure != Trap || r.Reason != "the instance cannot be used: it is closed" {
		t.Errorf("%+v", r)
	}
	if i.Memory() != 0 {
		t.Errorf("%d bytes after close", i.Memory())
	}
}

func TestFailureNames(t *testing.T) {
	for f, want := range map[Failure]string{None: "none", Trap: "trap", Timeout: "timeout", Exit: "exit",
		BadOutcome: "bad outcome", Interrupted: "interrupted", 6: "failure 6", -1: "failure -1"} {
		if f.String() != want {
			t.Errorf("%d = %q", int(f), f)
		}
	}
}
