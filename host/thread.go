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
	"unicode/utf8"

	"github.com/cenkalti/backoff/v5"

	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/host/config"
	"github.com/inbox-wasm/inbox-wasm/host/engine"
)

// thread is one dedicated OS thread of a subscription with its own instance, which it keeps for life
// and replaces when a call has spoiled it.
type thread struct {
	sub      *subscription
	number   int // from 0
	seat     *seat
	instance *engine.Instance
	pool     *guestPool // nil where the handler has none
	handled  int        // messages that this instance was given

	caller caller
	// claimed is when its last claim began, by the clock of flights.
	claimed time.Duration

	// Kept from call to call, for their room.
	tasks    []*task
	started  []*task
	messages []*engine.Message
	results  []engine.Result
	verdicts []verdict
}

func (s *subscription) newThread(number int) *thread {
	return &thread{sub: s, number: number, seat: &s.vitals.seats[number], pool: newGuestPool(s.assets.guests, s.handler, s.log)}
}

// close ends what the thread has.
func (t *thread) close() {
	t.discard(t.sub.ending())
	t.pool.close()
}

// run handles tasks until the queue is closed. ctx interrupts the guest.
func (t *thread) run(ctx context.Context) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer t.close()
	defer t.caller.close()
	for t.prepare(ctx) {
		task := t.sub.queue.take(t.number)
		if task == nil {
			return
		}
		t.tasks = append(t.tasks[:0], task)
		if !task.alone {
			t.tasks = t.sub.queue.more(t.number, t.tasks)
		}
		verdicts := t.handleAll(t.caller.begin(ctx, t.tasks), t.tasks)
		t.caller.end()
		t.sub.settler.add(t.sub.conclude(t.seat, verdicts)...)
		clear(t.tasks)
		clear(t.verdicts)
	}
}

// prepare makes sure that there is an instance. One that cannot be made is tried again, ever more
// slowly: without it the thread takes no rows, so a module that refuses to start spends no attempts.
// It gives up when the service stops.
func (t *thread) prepare(ctx context.Context) bool {
	retry := backoff.NewExponentialBackOff()
	retry.MaxInterval = 30 * time.Second
	for t.instance == nil {
		err := t.start(ctx)
		if err == nil {
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

// start makes an instance.
func (t *thread) start(ctx context.Context) error {
	instance, err := t.sub.assets.module.NewInstance(ctx, t.sub.settings)
	if err != nil {
		if ctx.Err() == nil {
			t.sub.vitals.start.set(startError(err))
		}
		return err
	}
	t.instance, t.handled = instance, 0
	t.sub.vitals.start.clear()
	t.sub.counters.created.Add(1)
	t.seat.grown(instance.Memory())
	t.sub.queue.enter()
	return nil
}

func (t *thread) discard(why cause) {
	if t.instance == nil {
		return
	}
	t.sub.counters.discarded[why].Add(1)
	if err := t.instance.Close(context.Background()); err != nil {
		t.sub.log.Warn("an instance did not close", "error", err)
	}
	t.instance = nil
	t.seat.grown(0)
	t.sub.queue.leave()
}

// handleAll runs the guest on rows, all in one call, and says what becomes of each, in any order. The
// list is the thread's own, until the next call.
func (t *thread) handleAll(ctx context.Context, tasks []*task) []verdict {
	sub := t.sub
	now := sub.now()
	t.started, t.verdicts = t.started[:0], t.verdicts[:0]
	for _, task := range tasks {
		if v, ended := sub.unstartable(task, now); ended {
			if v.outcome != released {
				task.begin()
			}
			t.verdicts = append(t.verdicts, v)
			continue
		}
		task.deadline.Store(now.Add(sub.handler.Timeout).UnixNano())
		task.begin()
		t.started = append(t.started, task)
	}
	if len(t.started) == 0 {
		return t.verdicts
	}
	ended := t.call(ctx, t.started, now)
	sub.counters.handled.Add(int64(len(t.started)))
	for i, task := range t.started {
		task.returned(&t.results[i])
		v := sub.judge(ctx, task, &t.results[i])
		v.ended = ended
		t.verdicts = append(t.verdicts, v)
	}
	clear(t.started)
	return t.verdicts
}

// unstartable says what becomes of a row that the guest is not to be called with, and whether it is one.
func (s *subscription) unstartable(task *task, now time.Time) (v verdict, ended bool) {
	d := task.delivery
	if !task.held(now) {
		return task.released(), true
	}
	if s.policy.overspent(d) {
		buried, o := s.policy.bury(forms.Settlement{Delivery: d, Reason: "the last attempt was not settled: its process ended, or the database refused it"})
		return verdict{task: task, settlement: buried, outcome: o}, true
	}
	if flaw := s.flaw(d); flaw != "" {
		failed, o := s.policy.undecodable(d, flaw)
		return verdict{task: task, settlement: failed, outcome: o}, true
	}
	return verdict{}, false
}

// judge says what becomes of a row by its call's result.
func (s *subscription) judge(ctx context.Context, task *task, result *engine.Result) verdict {
	d := task.delivery
	result = s.spoil(task, result)
	settlement, o := s.policy.settle(d, result)
	if result.Failure != engine.None && result.Failure != engine.Interrupted {
		s.log.LogAttrs(ctx, slog.LevelWarn, "the handler failed", slog.String("row", d.ID.String()),
			slog.Int64("attempt", d.Attempt), slog.String("failure", result.Failure.String()), slog.String("reason", result.Reason))
	}
	if s.handler.Batch > 1 {
		// Before the settlement: from then on the row can be claimed again.
		s.lone.learn(d, result, settlement.Change == forms.Return)
	}
	return verdict{task: task, settlement: settlement, outcome: o, ticks: result.Ticks, took: result.Elapsed}
}

// flaw says why no handler can be given the row; empty where one can.
func (s *subscription) flaw(d *forms.Delivery) string {
	switch {
	case d.Flaw != "":
		return d.Flaw
	case int64(len(d.Payload)) > s.handler.MaxPayload:
		return fmt.Sprintf("the payload of %d bytes is above max_payload, %d bytes", len(d.Payload), s.handler.MaxPayload)
	case d.Headers != nil && !isObject(d.Headers):
		return "the headers are not a JSON object"
	}
	return ""
}

func isObject(text []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("{")) && utf8.Valid(text) && json.Valid(text)
}

// call runs the guest on rows, leaves the results, and discards the instance where it is not to be used
// again. It says when the guest has ended, by the clock of flights. It begins now, by the host's clock: another look at a clock
// would cost as much as all else that is measured of a call.
func (t *thread) call(ctx context.Context, tasks []*task, now time.Time) (ended time.Duration) {
	h := t.sub.handler
	for len(t.messages) < len(tasks) {
		t.messages = append(t.messages, &engine.Message{})
	}
	messages := t.messages[:len(tasks)]
	for i, task := range tasks {
		fill(messages[i], h, task.delivery)
		messages[i].Statements = t.statements(task)
		messages[i].Publish = t.sub.publications(task)
		task.watch(messages[i], t.sub.settings.HTTP)
	}
	t.results = t.results[:0]
	t.seat.deadline.Store(int64(since(now) + h.Timeout))
	if h.Batch > 1 {
		t.results = t.instance.HandleBatch(ctx, messages, t.results)
	} else {
		t.results = append(t.results, t.instance.Handle(ctx, messages[0]))
	}
	t.seat.deadline.Store(0)
	result := &t.results[0]
	t.sub.counters.called(result)
	t.pool.end()
	for _, m := range messages {
		m.Row, m.Headers, m.Payload, m.Statements, m.Publish, m.HTTP = nil, nil, nil, nil, nil, nil // free to go while the thread is idle
	}
	t.handled += len(tasks)
	t.seat.grown(result.Memory)
	if why, worn := t.worn(result); worn {
		t.discard(why)
	}
	if result.Start.IsZero() {
		return elapsed()
	}
	return since(result.Start) + result.Elapsed
}

// fill makes m the message of a delivery.
func fill(m *engine.Message, h *config.Handler, d *forms.Delivery) {
	*m = engine.Message{
		Subscription:    h.Name,
		Table:           h.Table.Key,
		Group:           d.Group,
		ID:              d.ID.AppendJSON(m.ID[:0]),
		Row:             &d.ID,
		Attempt:         d.Attempt,
		MaxAttempts:     int64(h.MaxAttempts),
		PartitionKey:    d.PartitionKey,
		HasPartitionKey: d.HasPartitionKey,
		Headers:         d.Headers,
		Payload:         d.Payload,
		Timeout:         h.Timeout,
	}
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
