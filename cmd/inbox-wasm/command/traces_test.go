package command

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	coltrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// spanCollector takes spans over OTLP.
type spanCollector struct {
	mu    sync.Mutex
	spans map[string]int // by name
	names map[string]int // of services
}

func (c *spanCollector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var request coltrace.ExportTraceServiceRequest
	if err != nil || r.URL.Path != "/v1/traces" || proto.Unmarshal(body, &request) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, resource := range request.ResourceSpans {
		for _, a := range resource.Resource.Attributes {
			if a.Key == "service.name" {
				c.names[a.Value.GetStringValue()]++
			}
		}
		for _, scope := range resource.ScopeSpans {
			for _, span := range scope.Spans {
				c.spans[span.Name]++
			}
		}
	}
}

// traced runs rows through serve with what the environment says of traces.
func traced(t *testing.T, endpoint string, environment ...string) (stdout string) {
	t.Helper()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
	t.Setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "500")
	t.Setenv("OTEL_BSP_EXPORT_TIMEOUT", "1000")
	for i := 0; i < len(environment); i += 2 {
		t.Setenv(environment[i], environment[i+1])
	}
	f := newFolder(t, testdb.Database{Name: "sqlite", URL: testdb.SQLite(t)}, jobs+work)
	f.must("", "schema", "--apply")
	f.must(strings.Repeat("{}\n", 1000), "enqueue", "jobs", "--jsonl", "-", "--group", "work")
	return f.must("", "serve", "--until-empty", "--json")
}

func TestServeSendsTraces(t *testing.T) {
	c := &spanCollector{spans: map[string]int{}, names: map[string]int{}}
	server := httptest.NewServer(c)
	defer server.Close()
	traced(t, server.URL, "OTEL_SERVICE_NAME", "mail", "OTEL_BSP_MAX_QUEUE_SIZE", "20000")
	for _, name := range []string{"process jobs", "call work", "settle jobs"} {
		if c.spans[name] != 1000 {
			t.Errorf("%d spans %q", c.spans[name], name)
		}
	}
	if c.spans["claim jobs"] == 0 || c.names["mail"] == 0 || len(c.names) != 1 {
		t.Errorf("spans %v of services %v", c.spans, c.names)
	}
}

func TestServeSendsNoTracesUnlessItIsAskedTo(t *testing.T) {
	c := &spanCollector{spans: map[string]int{}, names: map[string]int{}}
	server := httptest.NewServer(c)
	defer server.Close()
	for _, environment := range [][]string{{"OTEL_SDK_DISABLED", "true"}, {"OTEL_TRACES_EXPORTER", "none"}, {"OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"}} {
		t.Run(environment[0], func(t *testing.T) {
			traced(t, server.URL, environment...)
			if len(c.spans) > 0 {
				t.Errorf("%v", c.spans)
			}
		})
	}
}

// An endpoint that is away, or never answers, neither keeps rows from being handled nor the program from its end.
func TestTracesThatNobodyTakesHoldNothingUp(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := gone.Close(); err != nil {
		t.Fatal(err)
	}
	for name, address := range map[string]string{"away": gone.Addr().String(), "silent": silent.Addr().String()} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			if stdout := traced(t, "http://"+address); !strings.Contains(stdout, `"acked": 1000`) {
				t.Errorf("%s", stdout)
			}
			if took := time.Since(began); took > flushTraces+20*time.Second {
				t.Errorf("it took %s", took)
			}
		})
	}
}
