package host

import (
	"testing"
	"time"

	"github.com/inbox-wasm/inbox-wasm/abi"
	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/host/config"
	"github.com/inbox-wasm/inbox-wasm/host/engine"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// newPolicy is of a handler with a cap of 3, a dead letter group and a backoff of 1 s to 10 s.
func newPolicy(change ...func(*config.Handler)) *policy {
	h := &config.Handler{
		Table: &config.Table{RetryAfter: "retry_after"}, PollInterval: time.Second,
		MaxAttempts: 3, DeadLetter: &config.Target{Group: "dead"},
		Backoff: config.Backoff{Initial: time.Second, Max: 10 * time.Second, Factor: 2},
	}
	for _, f := range []*config.Policy{&h.OnFailure.Trap, &h.OnFailure.Timeout, &h.OnFailure.Outcome, &h.OnFailure.Decode} {
		f.Action = config.RetryAfter
	}
	for _, c := range change {
		c(h)
	}
	return &policy{handler: h, now: func() time.Time { return noon }, warnNoDelay: func() {}}
}

// settled is a settlement as the tests compare it.
type settled struct {
	Outcome string
	Change  forms.Change
	In      time.Duration // until the row is due
	Uncount bool
	Reason  string
}

func settle(p *policy, attempt int64, r engine.Result) settled {
	s, o := p.settle(&forms.Delivery{Attempt: attempt}, &r)
	in := time.Duration(0)
	if !s.Until.IsZero() {
		in = s.Until.Sub(noon)
	}
	return settled{o.String(), s.Change, in, s.Uncount, s.Reason}
}

func TestPolicyOfOutcomes(t *testing.T) {
	p := newPolicy()
	for _, test := range []struct {
		name    string
		attempt int64
		result  engine.Result
		want    settled
	}{
		{"ack", 1, engine.Result{Code: abi.Ack, Reason: "r"}, settled{"acked", forms.Finish, 0, false, ""}},
		{"ack of a last attempt", 3, engine.Result{Code: abi.Ack}, settled{"acked", forms.Finish, 0, false, ""}},
		{"drop", 1, engine.Result{Code: abi.Drop, Reason: "r"}, settled{"dropped", forms.Finish, 0, false, "r"}},
		{"dead letter", 1, engine.Result{Code: abi.DeadLetter, Reason: "r"}, settled{"dead_lettered", forms.MoveToGroup, 0, true, "r"}},
		{"first retry", 1, engine.Result{Code: abi.Retry}, settled{"retried", forms.Return, 0, false, ""}},
		{"second retry", 2, engine.Result{Code: abi.Retry}, settled{"retried", forms.Return, time.Second, false, ""}},
		{"last retry", 3, engine.Result{Code: abi.Retry, Reason: "r"}, settled{"dead_lettered", forms.MoveToGroup, 0, true, "r"}},
		{"delay", 2, engine.Result{Code: abi.RetryAfter, Delay: time.Minute, HasDelay: true}, settled{"delayed", forms.Return, time.Minute, false, ""}},
		{"backoff", 2, engine.Result{Code: abi.RetryAfter}, settled{"delayed", forms.Return, 2 * time.Second, false, ""}},
		{"no delay", 1, engine.Result{Code: abi.RetryAfter, HasDelay: true}, settled{"retried", forms.Return, 0, false, ""}},
		{"last delay", 3, engine.Result{Code: abi.RetryAfter, Delay: time.Minute, HasDelay: true}, settled{"dead_lettered", forms.MoveToGroup, 0, true, ""}},
		{"snooze", 3, engine.Result{Code: abi.Snooze, Delay: time.Minute, HasDelay: true}, settled{"snoozed", forms.Return, time.Minute, true, ""}},
		{"snooze for the backoff", 3, engine.Result{Code: abi.Snooze}, settled{"snoozed", forms.Return, 4 * time.Second, true, ""}},
		{"snooze without a delay", 1, engine.Result{Code: abi.Snooze, HasDelay: true}, settled{"retried", forms.Return, time.Second, true, ""}},
		{"trap", 1, engine.Result{Failure: engine.Trap, Reason: "r"}, settled{"delayed", forms.Return, time.Second, false, "trap: r"}},
		{"exit", 1, engine.Result{Failure: engine.Exit, Reason: "r"}, settled{"delayed", forms.Return, time.Second, false, "exit: r"}},
		{"timeout of a last attempt", 3, engine.Result{Failure: engine.Timeout, Reason: "r"}, settled{"dead_lettered", forms.MoveToGroup, 0, true, "timeout: r"}},
		{"bad outcome", 1, engine.Result{Failure: engine.BadOutcome, Code: 77, Reason: "r"}, settled{"delayed", forms.Return, time.Second, false, "bad outcome: r"}},
		{"interruption of a last attempt", 3, engine.Result{Failure: engine.Interrupted}, settled{"interrupted", forms.Return, 0, false, ""}},
	} {
		equal(t, test.name, settle(p, test.attempt, test.result), test.want)
	}
}

func TestPolicyWithoutTargets(t *testing.T) {
	bare := newPolicy(func(h *config.Handler) {
		h.MaxAttempts, h.DeadLetter, h.Table = 0, nil, &config.Table{}
		h.OnFailure.Outcome = config.Policy{Action: config.RetryAfter, Delay: time.Hour, HasDelay: true}
	})
	warned := 0
	bare.warnNoDelay = func() { warned++ }
	equal(t, "dead letter", settle(bare, 0, engine.Result{Code: abi.DeadLetter}),
		settled{"delayed", forms.Return, time.Hour, false, "the handler returned dead_letter, and inbox.toml declares no target for it"})
	// Without a retry_after column a row rests for its backoff.
	equal(t, "delay", settle(bare, 0, engine.Result{Code: abi.RetryAfter, Delay: time.Minute, HasDelay: true}), settled{"retried", forms.Return, time.Second, false, ""})
	equal(t, "snooze", settle(bare, 0, engine.Result{Code: abi.Snooze, Delay: time.Minute, HasDelay: true}), settled{"retried", forms.Return, time.Second, true, ""})
	equal(t, "warnings", warned, 2)
	equal(t, "retry", settle(bare, 0, engine.Result{Code: abi.Retry}), settled{"retried", forms.Return, time.Second, false, ""})
	equal(t, "retry, never spent", settle(bare, 99, engine.Result{Code: abi.Retry}), settled{"retried", forms.Return, 10 * time.Second, false, ""})

	fifo := newPolicy(func(h *config.Handler) { h.Table.FIFO = true })
	equal(t, "head of a FIFO group", settle(fifo, 2, engine.Result{Code: abi.Retry}), settled{"retried", forms.Return, 0, false, ""})

	table := newPolicy(func(h *config.Handler) { h.DeadLetter = &config.Target{Table: &config.Table{}} })
	equal(t, "dead letter table", settle(table, 1, engine.Result{Code: abi.DeadLetter}), settled{"dead_lettered", forms.MoveToTable, 0, true, ""})
}

func TestFailureActions(t *testing.T) {
	for _, test := range []struct {
		policy  config.Policy
		attempt int64
		want    settled
	}{
		{config.Policy{Action: config.Retry}, 1, settled{"retried", forms.Return, 0, false, "trap: r"}},
		{config.Policy{Action: config.Retry}, 3, settled{"dead_lettered", forms.MoveToGroup, 0, true, "trap: r"}},
		{config.Policy{Action: config.RetryAfter, Delay: time.Hour, HasDelay: true}, 2, settled{"delayed", forms.Return, time.Hour, false, "trap: r"}},
		{config.Policy{Action: config.Drop}, 3, settled{"dropped", forms.Finish, 0, false, "trap: r"}},
		{config.Policy{Action: config.DeadLetter}, 1, settled{"dead_lettered", forms.MoveToGroup, 0, true, "trap: r"}},
	} {
		p := newPolicy(func(h *config.Handler) { h.OnFailure.Trap = test.policy })
		equal(t, test.policy.String(), settle(p, test.attempt, engine.Result{Failure: engine.Trap, Reason: "r"}), test.want)
	}
}

func TestBackoffGrowsWithinItsBounds(t *testing.T) {
	p := newPolicy()
	want := []time.Duration{1, 1, 2, 4, 8, 10, 10}
	for attempt, seconds := range want {
		equal(t, "backoff", p.backoff(&forms.Delivery{Attempt: int64(attempt)}), seconds*time.Second)
	}
	for _, attempt := range []int64{1 << 40, 1<<63 - 1} {
		equal(t, "backoff of a large attempt", p.backoff(&forms.Delivery{Attempt: attempt}), 10*time.Second)
	}
}

func TestBackoffIsSpreadByItsJitter(t *testing.T) {
	p := newPolicy(func(h *config.Handler) { h.Backoff.Jitter = 0.2 })
	least, most := time.Hour, time.Duration(0)
	for range 2000 {
		d := p.backoff(&forms.Delivery{Attempt: 3})
		least, most = min(least, d), max(most, d)
	}
	if least < 3200*time.Millisecond || most > 4800*time.Millisecond || least > 3400*time.Millisecond || most < 4600*time.Millisecond {
		t.Errorf("4 s ± 0.2 came out from %v to %v", least, most)
	}
	full := newPolicy(func(h *config.Handler) { h.Backoff.Jitter = 1 })
	for range 2000 {
		if d := full.backoff(&forms.Delivery{Attempt: 1}); d < 0 || d > 2*time.Second {
			t.Fatalf("1 s ± 1 came out as %v", d)
		}
	}
}
