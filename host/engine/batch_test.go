package engine

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/inbox-wasm/inbox-wasm/abi"
	"github.com/inbox-wasm/inbox-wasm/internal/testwasm"
)

func batchModule(t testing.TB) *Module {
	t.Helper()
	return load(t, newEngine(t, Options{}), "batch", wat(t, "batch"), Limits{})
}

// batch is a message for each payload; the attempt is the message's number.
func batch(payloads ...string) []*Message {
	messages := make([]*Message, len(payloads))
	for i, p := range payloads {
		messages[i] = &Message{Payload: []byte(p), Attempt: int64(i), Timeout: time.Minute}
	}
	return messages
}

// told are the results in words.
func told(results []Result) string {
	words := make([]string, len(results))
	for i, r := range results {
		words[i] = r.Code.String()
		if r.Failure != None {
			words[i] = r.Failure.String()
		}
		if r.HasDelay {
			words[i] += " in " + r.Delay.String()
		}
		if r.Reason != "" {
			words[i] += " (" + r.Reason + ")"
		}
	}
	return strings.Join(words, ", ")
}

func TestBatchOutcomesArePerMessage(t *testing.T) {
	i := instance(t, batchModule(t), Settings{})
	for _, c := range []struct {
		payloads []string
		want     string
	}{
		{[]string{"."}, "ack"},
		{[]string{"0", "1", "2", "3", "4", "5"}, "ack, retry, retry_after, drop, dead_letter, snooze"},
		{[]string{".", "3", "=1", "."}, "retry, drop, retry, retry"},
		{[]string{"r", ".", "=2", "0"}, "retry_after in 1.5s (because), retry_after, retry_after, ack"},
		{[]string{"a", "a", "a", "=3"}, "ack, retry, retry_after, drop"},
		{[]string{"w", ".", "1"}, "ack, ack, retry"},
		{[]string{"1", "=7", "r", "0"}, "retry, bad outcome (inbox_handle_batch returned 7, which is no outcome), " +
			"bad outcome (inbox_handle_batch returned 7, which is no outcome; reason: because), ack"},
	} {
		results := i.HandleBatch(t.Context(), batch(c.payloads...), nil)
		if got := told(results); got != c.want {
			t.Errorf("%q: %s, want %s", c.payloads, got, c.want)
		}
		for _, r := range results {
			if !r.Reusable || r.Memory != pageSize {
				t.Errorf("%q: %+v", c.payloads, r)
			}
		}
	}
}

// What the guest has decided stands, however the call ends.
func TestBatchThatEndsAbnormallyKeepsWhatWasDecided(t *testing.T) {
	m := batchModule(t)
	for face, want := range map[string]string{
		"t": "trap (unreachable)",
		"x": "exit (proc_exit(0))",
		"l": "timeout (the deadline passed)",
	} {
		i := instance(t, m, Settings{})
		messages := batch("0", "r", "4", face, "0")
		messages[0].Timeout = 50 * time.Millisecond
		reason := strings.TrimSuffix(want, ")") + "; reason: because)"
		results := i.HandleBatch(t.Context(), messages, nil)
		if got := told(results); got != fmt.Sprintf("ack, %s, dead_letter, %s, %s", reason, want, want) {
			t.Errorf("%s: %s", face, got)
		}
		for _, r := range results {
			if r.Reusable {
				t.Errorf("%s: the instance is broken: %+v", face, r)
			}
		}
		if again := told(i.HandleBatch(t.Context(), batch("0", "0"), nil)); !strings.HasPrefix(again, "trap (the instance cannot be used: ") {
			t.Errorf("%s: a call after it: %s", face, again)
		}
	}
}

func TestBatchInterrupted(t *testing.T) {
	i := instance(t, batchModule(t), Settings{})
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	if got := told(i.HandleBatch(ctx, batch("3", "l", "0"), nil)); got != "drop, interrupted (interrupted), interrupted (interrupted)" {
		t.Error(got)
	}
	i = instance(t, batchModule(t), Settings{})
	results := i.HandleBatch(ctx, batch("t", "t"), nil)
	if told(results) != "interrupted (interrupted before the call), interrupted (interrupted before the call)" || !results[0].Reusable {
		t.Errorf("%+v", results)
	}
	if got := told(i.HandleBatch(t.Context(), batch("0", "1"), nil)); got != "ack, retry" {
		t.Error(got)
	}
}

// A message's reason and outcome belong to it, and nothing of a batch reaches the next call.
func TestBatchLeavesNothingBehind(t *testing.T) {
	i := instance(t, batchModule(t), Settings{})
	i.HandleBatch(t.Context(), batch("r", "r", "3"), nil)
	if got := told(i.HandleBatch(t.Context(), batch("=2", ".", "."), nil)); got != "retry_after, retry_after, retry_after" {
		t.Error(got)
	}
	if r := i.Handle(t.Context(), face("0")); r.Code != abi.Snooze || r.Failure != None {
		t.Errorf("in single mode message and outcome answer %+v", r)
	}
}

func TestBatchAppendsAndMayBeEmpty(t *testing.T) {
	i := instance(t, batchModule(t), Settings{})
	results := i.HandleBatch(t.Context(), nil, []Result{{Reason: "kept"}})
	if results = i.HandleBatch(t.Context(), batch("1"), results); told(results) != "ack (kept), retry" {
		t.Error(told(results))
	}
}

// Each of the two exports will do, and the other call is then a failure that leaves the instance.
func TestBatchNeedsItsExport(t *testing.T) {
	i := faces(t, Settings{})
	if got := told(i.HandleBatch(t.Context(), batch("0", "0"), nil)); got != "trap (the module exports no inbox_handle_batch), trap (the module exports no inbox_handle_batch)" {
		t.Error(got)
	}
	if r := i.Handle(t.Context(), face("0")); r.Failure != None {
		t.Errorf("%+v", r)
	}
	const only = `(module (memory (export "memory") 1) (func (export "inbox_handle_batch") (param i32) (result i32) (i32.const 3)))`
	i = instance(t, load(t, newEngine(t, Options{}), "only", testwasm.WAT(t, only), Limits{}), Settings{})
	if r := i.Handle(t.Context(), face("0")); r.Failure != Trap || r.Reason != "the module exports no inbox_handle" {
		t.Errorf("%+v", r)
	}
	if got := told(i.HandleBatch(t.Context(), batch("", ""), nil)); got != "drop, drop" {
		t.Error(got)
	}
}

func TestBatchAllocatesNothing(t *testing.T) {
	i := instance(t, batchModule(t), Settings{})
	c := i.call
	messages := batch("0", "0", "0", "0")
	results := make([]Result, 0, len(messages))
	allocs := testing.AllocsPerRun(1000, func() {
		c.resetBatch(messages)
		for n := range messages {
			if message(c, nil, []uint64{uint64(n)}) != 0 || outcome(c, nil, []uint64{3}) != 0 {
				t.Fatal("refused")
			}
		}
		e := ended{}
		results = results[:0]
		for n := range messages {
			results = append(results, i.result(&e, abi.ExportHandleBatch, &c.spoken[n]))
		}
	})
	if allocs > 0 || told(results) != "drop, drop, drop, drop" {
		t.Errorf("%.1f allocations a call: %s", allocs, told(results))
	}
}
