package host

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/host/spans"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
	"github.com/inbox-wasm/inbox-wasm/internal/testwasm"
)

// told are the spans that a service has told of.
type told struct{ *tracetest.InMemoryExporter }

func traces(t *testing.T) (told, func(*Options)) {
	exporter := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter))
	t.Cleanup(func() {
		if err := provider.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return told{exporter}, func(o *Options) { o.Traces = provider }
}

// named are the spans of a name.
func (s told) named(name string) (list tracetest.SpanStubs) {
	for _, span := range s.GetSpans() {
		if span.Name == name {
			list = append(list, span)
		}
	}
	return list
}

// under is the span of a name whose parent is another.
func (s told) under(t *testing.T, parent tracetest.SpanStub, name string) tracetest.SpanStub {
	t.Helper()
	for _, span := range s.named(name) {
		if span.Parent.SpanID() == parent.SpanContext.SpanID() && span.SpanContext.TraceID() == parent.SpanContext.TraceID() {
			return span
		}
	}
	t.Fatalf("%s has no child %q", parent.Name, name)
	return tracetest.SpanStub{}
}

// of is an attribute of a span as text, empty where it has none.
func of(span tracetest.SpanStub, key string) string {
	for _, a := range span.Attributes {
		if a.Key == attribute.Key(key) {
			return a.Value.String()
		}
	}
	return ""
}

const (
	producerTrace = "0af7651916cd43dd8448eb211c80319c"
	producerSpan  = "b7ad6b7169203331"
)

// withHeaders has the jobs keep headers.
func withHeaders(declared string) string {
	if strings.Contains(declared, "headers = ") {
		return declared
	}
	return strings.ReplaceAll(declared, "payload = \"payload\"\n", "payload = \"payload\"\nheaders = \"headers\"\n")
}

// Each delivery is a trace, linked to its producer and its claim, with its call and its settlement.
func TestDeliveriesAreTraced(t *testing.T) {
	eachForm(t, func(t *testing.T, db testdb.Database, declared string) {
		t.Parallel()
		told, traced := traces(t)
		keys := "timeout = \"100ms\"\nbackoff = { initial = \"1h\", max = \"1h\" }"
		b := open(t, db, withHeaders(declared)+handler(t, "work", "jobs", keys), untilEmpty, traced)
		b.write("jobs", forms.Message{Group: "work", Payload: []byte("ok"),
			Headers: []byte(`{"traceparent":"00-` + producerTrace + `-` + producerSpan + `-01","trace":"t"}`)})
		b.enqueue("jobs", "work", "drop", "trap", "loop")
		b.drain()
		outcomes := map[string]int{}
		for _, span := range told.named("process jobs") {
			outcome := of(span, "inbox_wasm.outcome")
			outcomes[outcome+" "+of(span, "error.type")]++
			for key, want := range map[string]string{"messaging.system": "inbox_wasm", "messaging.operation.type": "process",
				"messaging.destination.name": "jobs", "inbox_wasm.handler": "work", "inbox_wasm.group": "work", "inbox_wasm.attempt": "1"} {
				equal(t, key, of(span, key), want)
			}
			if of(span, "messaging.message.id") == "" {
				t.Error("a span does not name its row")
			}
			call, settlement := told.under(t, span, "call work"), told.under(t, span, "settle jobs")
			equal(t, "outcome of the settlement", of(settlement, "inbox_wasm.outcome"), outcome)
			failed := of(span, "error.type") != ""
			equal(t, "failure of the call", call.Status.Code == codes.Error, failed)
			equal(t, "failure of the delivery", span.Status.Code == codes.Error, failed)
			if call.EndTime.After(settlement.StartTime) || settlement.EndTime.After(span.EndTime) {
				t.Error("the settlement does not come between the call and the end")
			}
			claim := span.Links[len(span.Links)-1].SpanContext
			if !slices.ContainsFunc(told.named("claim jobs"), func(c tracetest.SpanStub) bool { return c.SpanContext.Equal(claim) }) {
				t.Error("a delivery is not linked to its claim")
			}
			if outcome == "acked" {
				producer := span.Links[0].SpanContext
				equal(t, "producer", producer.TraceID().String()+" "+producer.SpanID().String(), producerTrace+" "+producerSpan)
				if span.SpanContext.TraceID() == producer.TraceID() {
					t.Error("the delivery is in its producer's trace")
				}
			}
		}
		equal(t, "outcomes", outcomes, map[string]int{"acked ": 1, "dropped ": 1, "delayed trap": 1, "delayed timeout": 1})
	})
}

// Host functions have spans under the call, and what a guest publishes and requests names them.
func TestGuestsCarryTheTraceOn(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		told, traced := traces(t)
		declared := strings.Replace(tables, "[tables.plain]\n", "[tables.plain]\nheaders = \"headers\"\n", 1)
		b := open(t, db, declared+publishing(t, `allow.publish = ["plain"]`), untilEmpty, traced)
		b.enqueue("jobs", "work", `{"payload":"a"}`, `{"payload":"b","headers":{"a":"<"}}`, `{"payload":"c","headers":{"traceparent":"mine"}}`)
		b.drain()
		var names []string
		for line := range strings.Lines(b.rows("plain", "headers")) {
			var headers map[string]string
			if err := json.Unmarshal([]byte(line), &headers); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			names = append(names, headers["a"]+headers["traceparent"])
		}
		equal(t, "headers kept", []bool{strings.HasPrefix(names[1], "<00-"), names[2] == "mine"}, []bool{true, true})
		publications := told.named("publish plain")
		equal(t, "publications", len(publications), 3)
		for i, span := range publications[:2] {
			producer := spans.Producer([]byte(`{"traceparent":"` + strings.TrimPrefix(names[i], "<") + `"}`))
			if !producer.IsValid() || !slices.ContainsFunc(publications, func(p tracetest.SpanStub) bool { return p.SpanContext.SpanID() == producer.SpanID() }) {
				t.Errorf("row %d names no publication: %q", i, names[i])
			}
			if !slices.ContainsFunc(told.named("call work"), func(call tracetest.SpanStub) bool {
				return call.SpanContext.SpanID() == span.Parent.SpanID() && call.SpanContext.TraceID() == span.SpanContext.TraceID()
			}) {
				t.Error("a publication is not under a call")
			}
		}
	})
}

func TestRequestsCarryTheTraceOn(t *testing.T) {
	asked := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		asked <- r.Header.Get("Traceparent")
	}))
	defer server.Close()
	told, traced := traces(t)
	b := open(t, testdb.Database{Name: "sqlite", URL: testdb.SQLite(t)}, tables+fmt.Sprintf(
		"[handlers.work]\nmodule = %q\ntable = \"jobs\"\npoll_interval = \"20ms\"\ndead_letter = \"dead\"\nallow.http = [{ url = %q, private = true }]\n[handlers.work.config]\nurl = %q\n",
		testwasm.Go(t, "../guest-sdk/go/testdata/sends"), server.URL, server.URL), untilEmpty, traced)
	b.enqueue("jobs", "work", "hi")
	b.drain()
	requests := told.named("POST")
	if len(requests) != 1 {
		t.Fatalf("%d spans of requests", len(requests))
	}
	equal(t, "traceparent", <-asked, "00-"+requests[0].SpanContext.TraceID().String()+"-"+requests[0].SpanContext.SpanID().String()+"-01")
	equal(t, "status", of(requests[0], "http.response.status_code"), "200")
	for _, call := range told.named("call work") {
		told.under(t, call, "POST")
	}
}

func TestStatementsAreTraced(t *testing.T) {
	eachTransactional(t, func(t *testing.T, db testdb.Database, declared string) {
		told, traced := traces(t)
		b := open(t, db, declared+writer(t, ""), untilEmpty, traced)
		b.enqueue("jobs", "work", "aSELECT 1", "aSELECT nothing")
		b.drain()
		failed := 0
		for _, span := range told.named("db") {
			if span.Status.Code == codes.Error {
				failed++
			}
		}
		equal(t, "statements, and those that failed", []int{len(told.named("db")), failed}, []int{2, 1})
		for _, call := range told.named("call work") {
			told.under(t, call, "db")
		}
		equal(t, "settlements", len(told.named("settle jobs")), 2)
	})
}

// A row that is given back unstarted is no delivery, and one that no guest can be given is one without a call.
func TestWhatIsNotCalledHasNoCall(t *testing.T) {
	told, traced := traces(t)
	b := open(t, testdb.Database{Name: "sqlite", URL: testdb.SQLite(t)},
		tables+handler(t, "work", "jobs", "max_payload = 4\ndead_letter = \"dead_jobs\""), untilEmpty, traced)
	b.enqueue("jobs", "work", "too long")
	b.drain()
	equal(t, "spans", []int{len(told.named("process jobs")), len(told.named("call work")), len(told.named("settle jobs"))}, []int{1, 0, 1})
	equal(t, "outcome", of(told.named("process jobs")[0], "inbox_wasm.outcome"), "dead_lettered")
}
