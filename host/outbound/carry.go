package outbound

import (
	"context"
	"net/http"

	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

// carry names the span of a request to whoever answers it, unless the guest has named one, and tells the span what is
// asked. Of the address it tells the origin alone: the rest may hold secrets.
func carry(ctx context.Context, span trace.Span, r *http.Request) {
	if !span.SpanContext().IsValid() {
		return
	}
	if r.Header.Get("traceparent") == "" {
		propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(r.Header))
	}
	span.SetName(r.Method)
	span.SetAttributes(semconv.HTTPRequestMethodKey.String(r.Method), semconv.ServerAddress(r.URL.Hostname()))
}
