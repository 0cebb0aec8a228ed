// Package spans tells what becomes of deliveries as traces of OpenTelemetry.
//
// A delivery is a trace of its own, linked to its producer and to its claim:
//
//	process jobs
//	├── call send-email
//	│   ├── db
//	│   ├── GET
//	│   └── publish welcome_jobs
//	└── settle jobs
package spans

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

// The attributes that have no name in the semantic conventions.
const (
	keyHandler = attribute.Key("inbox_wasm.handler")
	keyGroup   = attribute.Key("inbox_wasm.group")
	keyAttempt = attribute.Key("inbox_wasm.attempt")
	keyOutcome = attribute.Key("inbox_wasm.outcome")
	keyErrno   = attribute.Key("inbox_wasm.errno")
)

// Tracer makes the spans of one handler. A nil Tracer makes none.
type Tracer struct {
	tracer         trace.Tracer
	handler, table string
}

// New gives nil for no provider.
func New(p trace.TracerProvider, handler, table string) *Tracer {
	if p == nil {
		return nil
	}
	return &Tracer{tracer: p.Tracer("github.com/inbox-wasm/inbox-wasm", trace.WithSchemaURL(semconv.SchemaURL)), handler: handler, table: table}
}

// attributes are those of every operation on a table.
func (t *Tracer) attributes(operation string) []attribute.KeyValue {
	return []attribute.KeyValue{
		semconv.MessagingSystemKey.String("inbox_wasm"),
		semconv.MessagingOperationName(operation),
		semconv.MessagingDestinationName(t.table),
		semconv.MessagingConsumerGroupName(t.handler),
		keyHandler.String(t.handler),
	}
}

// Claimed makes the span of a claim that took rows, and gives the deliveries of these, which do not begin yet.
func (t *Tracer) Claimed(began time.Time, rows int) []Delivery {
	if t == nil {
		return nil
	}
	_, span := t.tracer.Start(context.Background(), "claim "+t.table, trace.WithTimestamp(began), trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(append(t.attributes("claim"), semconv.MessagingOperationTypeReceive, semconv.MessagingBatchMessageCount(rows))...))
	span.End()
	deliveries := make([]Delivery, rows)
	for i := range deliveries {
		deliveries[i].tracer, deliveries[i].claim = t, span.SpanContext()
	}
	return deliveries
}
