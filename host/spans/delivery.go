package spans

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/inbox-wasm/inbox-wasm/abi"
)

// Delivery is the spans of one delivery. A nil Delivery has none.
type Delivery struct {
	tracer *Tracer
	claim  trace.SpanContext

	mu       sync.Mutex // a guest that is given up may run while its row is settled
	span     trace.Span // nil before the delivery begins
	call     trace.Span // nil before the guest is called
	returned time.Time  // when its outcome was known
}

// Row is what a span says of a row.
type Row struct {
	ID      string
	Group   string
	Attempt int64
	Headers []byte // a JSON object, or nil
}

// Begin begins the delivery. What comes before it makes no span.
func (d *Delivery) Begin(r Row) {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	t := d.tracer
	attributes := append(t.attributes("process"), semconv.MessagingOperationTypeProcess, semconv.MessagingMessageID(r.ID),
		keyGroup.String(r.Group), keyAttempt.Int64(r.Attempt))
	links := []trace.Link{{SpanContext: d.claim}}
	if producer := Producer(r.Headers); producer.IsValid() {
		links = append([]trace.Link{{SpanContext: producer}}, links...)
	}
	_, d.span = t.tracer.Start(context.Background(), "process "+t.table, trace.WithSpanKind(trace.SpanKindConsumer),
		trace.WithAttributes(attributes...), trace.WithLinks(links...))
	d.returned = time.Now()
}

// Call begins the call of the guest.
func (d *Delivery) Call() {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	_, d.call = d.tracer.tracer.Start(trace.ContextWithSpan(context.Background(), d.span), "call "+d.tracer.handler)
}

// Returned ends the call. An empty failure is none.
func (d *Delivery) Returned(failure, reason string) {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if failure != "" {
		for _, span := range []trace.Span{d.call, d.span} {
			span.SetStatus(codes.Error, reason)
			span.SetAttributes(semconv.ErrorTypeKey.String(failure))
		}
	}
	d.returned = time.Now()
	d.call.End(trace.WithTimestamp(d.returned))
}

// Ask begins the span of a host function with a side effect, under the guest's call, and puts it into the context.
func (d *Delivery) Ask(ctx context.Context, name string, kind trace.SpanKind) (context.Context, trace.Span) {
	return d.tracer.tracer.Start(trace.ContextWithSpan(ctx, d.call), name, trace.WithSpanKind(kind))
}

// Answered ends the span of a host function.
func Answered(span trace.Span, errno abi.Errno) {
	if errno != 0 {
		span.SetStatus(codes.Error, errno.String())
		span.SetAttributes(keyErrno.Int(int(errno)))
	}
	span.End()
}

// Published names the span of a publication after the table that it went to.
func Published(span trace.Span, table string) {
	span.SetName("publish " + table)
	span.SetAttributes(semconv.MessagingOperationTypeSend, semconv.MessagingDestinationName(table))
}

// Settled ends the delivery with its outcome, and why that did not take effect where fault is not empty.
func (d *Delivery) Settled(outcome, fault string) {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.span == nil {
		return // it went back unstarted
	}
	_, settlement := d.tracer.tracer.Start(trace.ContextWithSpan(context.Background(), d.span), "settle "+d.tracer.table,
		trace.WithSpanKind(trace.SpanKindClient), trace.WithTimestamp(d.returned),
		trace.WithAttributes(append(d.tracer.attributes("settle"), semconv.MessagingOperationTypeSettle, keyOutcome.String(outcome))...))
	if fault != "" {
		settlement.SetStatus(codes.Error, fault)
		d.span.SetStatus(codes.Error, fault)
	}
	settlement.End()
	d.span.SetAttributes(keyOutcome.String(outcome))
	d.span.End()
}
