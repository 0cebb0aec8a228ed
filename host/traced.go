package host

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/inbox-wasm/inbox-wasm/abi"
	"github.com/inbox-wasm/inbox-wasm/host/engine"
	"github.com/inbox-wasm/inbox-wasm/host/spans"
)

// traced gives the rows of a claim their spans. The claim began then by the clock of flights.
func (s *subscription) traced(tasks []*task, began time.Duration) {
	if s.tracer == nil {
		return
	}
	deliveries := s.tracer.Claimed(time.Now().Add(began-elapsed()), len(tasks))
	for i, t := range tasks {
		t.spans = &deliveries[i]
	}
}

// begin begins the span of a delivery.
func (t *task) begin() {
	if t.spans != nil {
		d := t.delivery
		t.spans.Begin(spans.Row{ID: d.ID.String(), Group: d.Group, Attempt: d.Attempt, Headers: d.Headers})
	}
}

// watch makes spans of what the guest asks of its message, and begins that of its call.
func (t *task) watch(m *engine.Message, http engine.Requests) {
	if t.spans == nil {
		return
	}
	t.spans.Call()
	if run := m.Statements; run != nil {
		m.Statements = func(ctx context.Context, conn int32, sql string, args []byte) ([]byte, abi.Errno) {
			ctx, span := t.spans.Ask(ctx, "db", trace.SpanKindClient)
			result, errno := run(ctx, conn, sql, args)
			spans.Answered(span, errno)
			return result, errno
		}
	}
	if write := m.Publish; write != nil {
		m.Publish = func(ctx context.Context, table string, message []byte) ([]byte, abi.Errno) {
			ctx, span := t.spans.Ask(ctx, "publish", trace.SpanKindProducer)
			result, errno := write(ctx, table, message)
			if errno == 0 {
				spans.Published(span, table) // before, it was any text of the guest's
			}
			spans.Answered(span, errno)
			return result, errno
		}
	}
	if http != nil {
		m.HTTP = func(ctx context.Context, request []byte) ([]byte, abi.Errno) {
			ctx, span := t.spans.Ask(ctx, "http", trace.SpanKindClient)
			result, errno := http(ctx, request)
			spans.Answered(span, errno)
			return result, errno
		}
	}
}

// returned ends the span of the call.
func (t *task) returned(r *engine.Result) {
	if t.spans == nil {
		return
	}
	failure := ""
	if r.Failure != engine.None {
		failure = r.Failure.String()
	}
	t.spans.Returned(failure, r.Reason)
}
