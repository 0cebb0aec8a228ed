package host

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/host/engine"
)

// thread is one dedicated OS thread of a subscription with its own instance, which it keeps for life
// and replaces when a call has spoiled it.
type thread struct {
	sub      *subscription
	instance *engine.Instance
	calls    int // of this instance
	id       []byte
}

// run handles tasks until the queue is closed. ctx interrupts the guest.
func (t *thread) run(ctx context.Context) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer t.discard()
	for t.prepare(ctx) {
		task := t.sub.queue.take()
		if task == nil {
			return
		}
		t.handle(ctx, task)
	}
}

// prepare makes sure that there is an instance. One that cannot be made is tried again, ever more
// slowly: without it the thread takes no rows, so a module that refuses to start spends no attempts.
// It gives up when the service stops.
func (t *thread) prepare(ctx context.Context) bool {
	retry := backoff.NewExponentialBackOff()
	retry.MaxInterval = 30 * time.Second
	for t.instance == nil {
		instance, err := t.sub.module.NewInstance(ctx, t.sub.settings)
		if err == nil {
			t.instance, t.calls = instance, 0
			t.sub.queue.enter()
			break
		}
		if ctx.Err() != nil || t.sub.instanceFailed(err) {
			return false
		}
		select {
		case <-time.After(retry.NextBackOff()):
		case <-t.sub.stopping:
			return false
		}
	}
	return true
}

func (t *thread) discard() {
	if t.instance == nil {
		return
	}
	if err := t.instance.Close(context.Background()); err != nil {
		t.sub.log.Warn("an instance did not close", "error", err)
	}
	t.instance = nil
	t.sub.queue.leave()
}

// handle runs the guest on one row and passes on what becomes of it.
func (t *thread) handle(ctx context.Context, task *task) {
	sub, d := t.sub, task.delivery
	now := sub.now()
	if !task.held(now) {
		sub.giveBack(task)
		return
	}
	if sub.policy.overspent(d) {
		s, o := sub.policy.bury(forms.Settlement{Delivery: d, Reason: "the last attempt ended without an outcome"})
		sub.settler.add(verdict{task, s, o})
		return
	}
	if flaw := sub.flaw(d); flaw != "" {
		s, o := sub.policy.undecodable(d, flaw)
		sub.settler.add(verdict{task, s, o})
		return
	}
	task.deadline.Store(now.Add(sub.handler.Timeout).UnixNano())
	result := t.call(ctx, d)
	sub.counters.handled.Add(1)
	s, o := sub.policy.settle(d, &result)
	if result.Failure != engine.None && result.Failure != engine.Interrupted {
		sub.log.LogAttrs(ctx, slog.LevelWarn, "the handler failed", slog.String("row", d.ID.String()),
			slog.Int64("attempt", d.Attempt), slog.String("failure", result.Failure.String()), slog.String("reason", result.Reason))
	}
	sub.settler.add(verdict{task, s, o})
}

// flaw says why no handler can be given the row; empty where one can.
func (s *subscription) flaw(d *forms.Delivery) string {
	switch {
	case int64(len(d.Payload)) > s.handler.MaxPayload:
		return fmt.Sprintf("the payload of %d bytes is above max_payload, %d bytes", len(d.Payload), s.handler.MaxPayload)
	case d.Headers != nil && !isObject(d.Headers):
		return "the headers are not a JSON object"
	}
	return ""
}

func isObject(text []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("{")) && json.Valid(text)
}

// call runs the guest and discards the instance where it is not to be used again.
func (t *thread) call(ctx context.Context, d *forms.Delivery) engine.Result {
	h := t.sub.handler
	t.id = d.ID.AppendJSON(t.id[:0])
	t.calls++
	result := t.instance.Handle(ctx, &engine.Message{
		Subscription:    h.Name,
		Table:           h.Table.Key,
		Group:           d.Group,
		ID:              t.id,
		Attempt:         d.Attempt,
		MaxAttempts:     int64(h.MaxAttempts),
		PartitionKey:    d.PartitionKey,
		HasPartitionKey: d.HasPartitionKey,
		Headers:         d.Headers,
		Payload:         d.Payload,
		Timeout:         h.Timeout,
	})
	worn := h.Instance == "fresh" || h.RecycleAfter > 0 && t.calls >= h.RecycleAfter ||
		h.RecycleMemory > 0 && result.Memory > h.RecycleMemory
	if worn || !result.Reusable {
		t.discard()
	}
	return result
}

// instanceFailed reports a failed start of an instance, and whether the thread should give up.
func (s *subscription) instanceFailed(err error) bool {
	s.log.Error("no instance could be made; the subscription claims nothing until one can", "error", err)
	var refused *engine.InitError
	if s.untilEmpty && errors.As(err, &refused) {
		s.fail(err)
		return true
	}
	return false
}
