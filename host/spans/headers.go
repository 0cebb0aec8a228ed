package spans

import (
	"bytes"
	"context"
	"encoding/json"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// The headers of W3C Trace Context.
const (
	traceParent = "traceparent"
	traceState  = "tracestate"
)

// headers are the texts of a JSON object as a carrier.
type headers map[string]string

// Get implements [propagation.TextMapCarrier].
func (h headers) Get(key string) string { return h[key] }

// Set implements [propagation.TextMapCarrier].
func (h headers) Set(key, value string) { h[key] = value }

// Keys implements [propagation.TextMapCarrier].
func (h headers) Keys() []string {
	keys := make([]string, 0, len(h))
	for key := range h {
		keys = append(keys, key)
	}
	return keys
}

// Producer is the span that a row's headers name, invalid where they name none.
func Producer(text []byte) trace.SpanContext {
	if !bytes.Contains(text, []byte(`"`+traceParent+`"`)) {
		return trace.SpanContext{}
	}
	var named struct {
		Parent string `json:"traceparent"`
		State  string `json:"tracestate"`
	}
	if json.Unmarshal(text, &named) != nil {
		return trace.SpanContext{}
	}
	h := headers{traceParent: named.Parent, traceState: named.State}
	return trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), h))
}

// Carry adds the context's span to the headers of a row, a JSON object or nil, unless they name one.
func Carry(ctx context.Context, text []byte) []byte {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return text
	}
	all := map[string]json.RawMessage{}
	if text != nil {
		if json.Unmarshal(text, &all) != nil || all == nil || all[traceParent] != nil {
			return text
		}
	}
	h := headers{}
	propagation.TraceContext{}.Inject(ctx, h)
	for key, value := range h {
		encoded, err := json.Marshal(value)
		if err != nil {
			return text
		}
		all[key] = encoded
	}
	added, err := json.Marshal(all)
	if err != nil {
		return text
	}
	return added
}
