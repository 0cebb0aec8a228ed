package conformance

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/inbox-wasm/inbox-wasm/abi"
	"github.com/inbox-wasm/inbox-wasm/host/engine"
	"github.com/inbox-wasm/inbox-wasm/internal/testwasm"
)

// sdks are the handlers that pass the vectors, one for each SDK.
var sdks = map[string]func(t testing.TB) string{
	"assemblyscript": func(t testing.TB) string { return testwasm.AssemblyScript(t, "assemblyscript/handler.ts") },
	"c":              func(t testing.TB) string { return testwasm.C(t, "c/handler.c") },
	"c++":            func(t testing.TB) string { return testwasm.CXX(t, "c/handler.c") },
	"go":             func(t testing.TB) string { return testwasm.Go(t, "go") },
	"javascript":     func(t testing.TB) string { return testwasm.JavaScript(t, "javascript/handler.js") },
	"rust":           func(t testing.TB) string { return testwasm.Rust(t, "rust") },
	"zig":            func(t testing.TB) string { return testwasm.Zig(t, "zig") },
}

// vector is one call: a message, what the host is asked, and what becomes of it.
type vector struct {
	Name    string
	Headers map[string]any
	Payload string
	Base64  []byte
	Null    bool // the payload is NULL
	Repeat  int  // the payload so many times
	Host    *answer
	Want    want
}

// answer is what the host says to the only call of a function with a side effect.
type answer struct {
	Function string
	Args     []any           // the numbers and texts, but for a last one that is JSON
	JSON     json.RawMessage // that one, compared as a value
	Result   string
	Enlarge  int // the word LARGE in the result becomes so many bytes
	Errno    abi.Errno
}

// want is what a call comes to.
type want struct {
	Code     *abi.Code
	Failure  string
	Reason   string
	Contains string          // in the reason
	JSON     json.RawMessage // the reason as a value
	Members  map[string]any  // of the reason
	Between  []int64         // the reason as a number
	Random   int             // the reason is so many bytes in base64, never the same
	DelayMS  *int64          `json:"delay_ms"`
	Log      []string
}

func vectors(t *testing.T) []vector {
	t.Helper()
	text, err := os.ReadFile("../../abi/testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var list []vector
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&list); err != nil {
		t.Fatal(err)
	}
	return list
}

// eachSDK runs a test on the handler of each SDK.
func eachSDK(t *testing.T, run func(t *testing.T, g *guest)) {
	for _, name := range sorted(sdks) {
		t.Run(name, func(t *testing.T) { run(t, newGuest(t, sdks[name](t))) })
	}
}

func sorted[V any](m map[string]V) []string {
	var names []string
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// guest is a handler on the real engine, under a host that answers as a vector says.
type guest struct {
	t        *testing.T
	module   *engine.Module
	instance *engine.Instance
	log      *lines
	answer   *answer
	asked    int
}

// lines keeps what guests log.
type lines struct{ said []string }

func (l *lines) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }
func (l *lines) WithAttrs([]slog.Attr) slog.Handler               { return l }
func (l *lines) WithGroup(string) slog.Handler                    { return l }
func (l *lines) Handle(_ context.Context, r slog.Record) error {
	l.said = append(l.said, r.Message)
	return nil
}

// cache keeps what the tests compile, each handler once.
var cache string

func TestMain(m *testing.M) {
	var err error
	if cache, err = os.MkdirTemp("", "conformance"); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(cache)
	os.Exit(code)
}

func newGuest(t *testing.T, path string) *guest {
	t.Helper()
	e, err := engine.New(t.Context(), engine.Options{CacheDir: cache})
	if err != nil {
		t.Fatal(err)
	}
	m, err := e.Load(t.Context(), path, engine.Limits{Memory: 64 << 20, Allowed: []string{"db", "publish", "http"}})
	if err != nil {
		t.Fatal(err)
	}
	g := &guest{t: t, module: m, log: &lines{}}
	g.start(map[string]string{"greeting": "hello", "sender": "noreply@example.com"})
	t.Cleanup(func() {
		for _, close := range []func(context.Context) error{g.instance.Close, m.Close, e.Close} {
			if err := close(context.Background()); err != nil {
				t.Error(err)
			}
		}
	})
	return g
}

func (g *guest) start(config map[string]string) {
	g.t.Helper()
	var err error
	g.instance, err = g.module.NewInstance(g.t.Context(), engine.Settings{Config: config, Log: slog.New(g.log), MayPublish: 10,
		HTTP: func(_ context.Context, request []byte) ([]byte, abi.Errno) { return g.asks("http", nil, request) }})
	if err != nil {
		g.t.Fatal(err)
	}
}

// asks compares what the guest asks with what it should.
func (g *guest) asks(function string, args []any, text []byte) ([]byte, abi.Errno) {
	a := g.answer
	if g.asked++; a == nil || a.Function != function || g.asked > 1 {
		g.t.Errorf("the guest asks for %s%v %s", function, args, text)
		return nil, abi.NotAllowed
	}
	if got, want := fmt.Sprint(args...), fmt.Sprint(a.Args...); got != want {
		g.t.Errorf("the guest asks for %s of %s, want %s", function, got, want)
	}
	if a.JSON != nil {
		compare(g.t, function, text, a.JSON)
	}
	if a.Errno != 0 && a.Result == "" {
		return nil, a.Errno
	}
	return []byte(strings.ReplaceAll(a.Result, "LARGE", strings.Repeat("x", a.Enlarge))), a.Errno
}

func compare(t *testing.T, what string, got, want []byte) {
	t.Helper()
	if diff := cmp.Diff(value(t, want), value(t, got)); diff != "" {
		t.Errorf("%s: want -, got +\n%s", what, diff)
	}
}

// value decodes JSON with its numbers as they are written.
func value(t *testing.T, text []byte) (v any) {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&v); err != nil {
		t.Errorf("%s is no JSON: %v", text, err)
	}
	return v
}

func (g *guest) message(v *vector) *engine.Message {
	headers, err := json.Marshal(v.Headers)
	if err != nil {
		g.t.Fatal(err)
	}
	m := &engine.Message{Subscription: "work", Table: "jobs", Group: "g", ID: []byte("7"), Attempt: 2, MaxAttempts: 5, PartitionKey: "ada", HasPartitionKey: true,
		Headers: headers, Payload: []byte(strings.Repeat(v.Payload, max(v.Repeat, 1))), Timeout: 10 * time.Second,
		Statements: func(_ context.Context, conn int32, sql string, args []byte) ([]byte, abi.Errno) {
			return g.asks("db", []any{conn, sql}, args)
		},
		Publish: func(_ context.Context, table string, message []byte) ([]byte, abi.Errno) {
			return g.asks("publish", []any{table}, message)
		}}
	switch {
	case v.Base64 != nil:
		m.Payload = v.Base64
	case v.Null:
		m.Payload = nil
	}
	return m
}

// run calls the guest and checks what comes of it.
func (g *guest) run(t *testing.T, v *vector) engine.Result {
	g.t, g.answer, g.asked, g.log.said = t, v.Host, 0, nil
	r := g.instance.Handle(t.Context(), g.message(v))
	g.check(&r, v)
	if !r.Reusable {
		if err := g.instance.Close(t.Context()); err != nil {
			t.Error(err)
		}
		g.start(map[string]string{"greeting": "hello", "sender": "noreply@example.com"})
	}
	return r
}

func (g *guest) check(r *engine.Result, v *vector) {
	t, w := g.t, v.Want
	if failure := r.Failure.String(); w.Failure != "" && failure != w.Failure || w.Failure == "" && r.Failure != engine.None {
		t.Errorf("the call ends with %q: %s, want %q", failure, r.Reason, w.Failure)
	}
	if w.Code != nil && r.Code != *w.Code {
		t.Errorf("the outcome is %v with the reason %q, want %v", r.Code, r.Reason, *w.Code)
	}
	if r.HasDelay != (w.DelayMS != nil) || w.DelayMS != nil && r.Delay.Milliseconds() != *w.DelayMS {
		t.Errorf("the delay is %v, %v", r.Delay, r.HasDelay)
	}
	if (v.Host != nil) != (g.asked == 1) {
		t.Errorf("the guest has asked the host %d times", g.asked)
	}
	if !slices.Equal(g.log.said, w.Log) && w.Failure == "" {
		t.Errorf("the log is %q, want %q", g.log.said, w.Log)
	}
	g.checkReason(r.Reason, &w)
}

func (g *guest) checkReason(reason string, w *want) {
	t := g.t
	switch {
	case w.Contains != "":
		if !strings.Contains(reason, w.Contains) {
			t.Errorf("the reason is %q, want it to contain %q", reason, w.Contains)
		}
	case w.JSON != nil:
		compare(t, "the reason", []byte(reason), w.JSON)
	case w.Members != nil:
		got, _ := value(t, []byte(reason)).(map[string]any)
		for name := range got {
			if _, asked := w.Members[name]; !asked {
				delete(got, name)
			}
		}
		if diff := cmp.Diff(map[string]any(w.Members), got); diff != "" {
			t.Errorf("the reason: want -, got +\n%s", diff)
		}
	case w.Between != nil:
		if n, err := strconv.ParseInt(reason, 10, 64); err != nil || n < w.Between[0] || n > w.Between[1] {
			t.Errorf("the reason is %q, want a number between %v", reason, w.Between)
		}
	case w.Random > 0:
		if b, err := base64.StdEncoding.DecodeString(reason); err != nil || len(b) != w.Random {
			t.Errorf("the reason is %q: %v", reason, err)
		}
	case reason != w.Reason:
		t.Errorf("the reason is %q, want %q", reason, w.Reason)
	}
}

// Every SDK passes every vector, message after message on one instance.
func TestVectors(t *testing.T) {
	list := vectors(t)
	eachSDK(t, func(t *testing.T, g *guest) {
		for i := range list {
			t.Run(list[i].Name, func(t *testing.T) { g.run(t, &list[i]) })
		}
		first := g.run(t, &vector{Headers: map[string]any{"do": "random"}, Want: want{Random: 16}}).Reason
		if second := g.run(t, &vector{Headers: map[string]any{"do": "random"}, Want: want{Random: 16}}).Reason; first == second {
			t.Errorf("twice the same random bytes: %s", first)
		}
	})
}

// A handler of every SDK imports every function of the contract, so that a host without one of them refuses it.
func TestEveryFunctionIsUsed(t *testing.T) {
	eachSDK(t, func(t *testing.T, g *guest) {
		for _, f := range abi.Functions() {
			if !slices.Contains(g.module.Info().Imports, "inbox_v1."+f.Name) {
				t.Errorf("%s is not imported", f.Name)
			}
		}
	})
}

// Messages of a batch say what becomes of each of them, and the others come to what the call returns.
func TestBatches(t *testing.T) {
	eachSDK(t, func(t *testing.T, g *guest) {
		g.t = t
		var messages []*engine.Message
		for i, headers := range []map[string]any{{"do": "ack"}, {"do": "dead_letter", "why": "one"}, {}, {"do": "retry_after", "ms": "1500"}, {"do": "payload"}, {"do": "drop"}} {
			messages = append(messages, g.message(&vector{Headers: headers, Payload: fmt.Sprint("payload ", i)}))
		}
		var got []string
		for _, r := range g.instance.HandleBatch(t.Context(), messages, nil) {
			got = append(got, fmt.Sprint(r.Code, " ", r.Reason, " ", r.Delay))
		}
		want := []string{"ack  0s", "dead_letter one 0s", "retry  0s", "retry_after  1.5s", "dead_letter payload 4 0s", "drop  0s"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("want -, got +\n%s", diff)
		}
	})
}

// A handler that finds its settings wanting refuses the instance, and says why.
func TestInitMayRefuse(t *testing.T) {
	eachSDK(t, func(t *testing.T, g *guest) {
		_, err := g.module.NewInstance(t.Context(), engine.Settings{})
		if err == nil || !strings.Contains(err.Error(), "no greeting") {
			t.Errorf("got %v", err)
		}
	})
}

// Fifty thousand messages leave the memory of one instance where it was.
func TestMemoryStays(t *testing.T) {
	eachSDK(t, func(t *testing.T, g *guest) {
		g.t = t
		v := &vector{Headers: map[string]any{"do": "payload"}, Payload: strings.Repeat("payload", 200)}
		var early, late int64
		for i := range 50_000 {
			r := g.instance.Handle(t.Context(), g.message(v))
			if r.Failure != engine.None {
				t.Fatalf("message %d: %+v", i, r)
			}
			if i == 5000 {
				early = r.Memory
			}
			late = r.Memory
		}
		if late > early*11/10 {
			t.Errorf("after 5,000 messages the instance has %d bytes, and after 50,000 %d", early, late)
		}
	})
}

// The tests of the SDK in Zig pass, without a host.
func TestZig(t *testing.T) { testwasm.ZigTests(t, "../zig") }
