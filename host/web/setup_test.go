package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/databases"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/host"
	"github.com/inbox-wasm/inbox-wasm/host/config"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
	"github.com/inbox-wasm/inbox-wasm/internal/testwasm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// longest bounds every wait for something that should happen soon.
const longest = time.Minute

const secretToken = "s3cr3t-token-of-the-tests"

// jobs is a table with every role that an operator sees, and a dead letter group.
const jobs = `
[tables.jobs]
id = "id"
group = "name"
priority = "priority"
attempt = "attempt"
retry_after = "retry_after"
locked_until = "locked_until"
processed_at = "processed_at"
headers = "headers"
payload = "payload"
error = "error"
origin = "origin"
created_at = "created_at"
`

// fixture is a server, with a service where a test needs one.
type fixture struct {
	t       *testing.T
	server  *Server
	service *host.Service
	store   store.Store
	config  *config.Config
	log     *lines
	url     string
	token   string // that requests are sent with
	client  *http.Client
}

// module is a handler that does as a face says: see host/testdata/faces.wat.
func module(t testing.TB) string {
	t.Helper()
	return testwasm.WATFile(t, filepath.Join("..", "testdata", "faces.wat"))
}

func handler(t testing.TB, name, keys string) string {
	return fmt.Sprintf("[handlers.%s]\nmodule = %q\ntable = \"jobs\"\npoll_interval = \"50ms\"\n%s\n", name, module(t), keys)
}

// parse reads a configuration that listens at a free port of the loopback, with more keys of [runtime].
func parse(t testing.TB, url, runtime, toml string) *config.Config {
	t.Helper()
	if !strings.Contains(runtime, "listen_http") {
		runtime += "\nlisten_http = \"127.0.0.1:0\""
	}
	data := fmt.Sprintf("[database]\nurl = %q\n[runtime]\n%s\n%s", url, runtime, toml)
	cfg, err := config.Parse(filepath.Join(t.TempDir(), "inbox.toml"), []byte(data), func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// listen starts a server without a service.
func listen(t *testing.T, cfg *config.Config) *fixture {
	t.Helper()
	f := &fixture{t: t, config: cfg, log: &lines{}, token: cfg.Runtime.HTTPToken.Reveal(), client: &http.Client{
		Transport: &http.Transport{}, Timeout: longest,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	var err error
	f.server, err = New(Options{Config: cfg, Log: f.log.logger(), Version: "test", Reload: func(ctx context.Context) (host.Reloaded, error) {
		return f.service.Reload(ctx, f.config)
	}})
	if err != nil {
		t.Fatal(err)
	}
	f.url = "http://" + f.server.Address()
	t.Cleanup(func() {
		f.client.CloseIdleConnections()
		if err := f.server.Close(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Log(f.log)
		}
	})
	return f
}

// bare is a server without a service, on a configuration of no moment.
func bare(t *testing.T, runtime string) *fixture {
	t.Helper()
	return listen(t, parse(t, testdb.SQLite(t), runtime, jobs+handler(t, "work", "")))
}

// open is a server with a service on tables of the test's own.
func open(t *testing.T, url, runtime, toml string) *fixture {
	t.Helper()
	cfg := parse(t, url, runtime, toml)
	s, err := databases.Open(t.Context(), databases.Builtin(), url, store.Options{MaxConnections: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, declared := range cfg.Tables {
		schema := s.Dialect().Schema(declared.Declared())
		for _, sql := range []string{schema.Table, schema.Index} {
			if sql == "" {
				continue
			}
			if err := s.Script(t.Context(), sql); err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
		}
	}
	f := listen(t, cfg)
	f.store = s
	if f.service, err = host.Open(t.Context(), host.Options{Config: cfg, Log: f.log.logger()}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(f.server.Close(), f.service.Close()); err != nil {
			t.Error(err)
		}
	})
	f.server.Attach(f.service)
	return f
}

// run runs the service until the test ends, or until stop is called.
func (f *fixture) run() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- f.service.Run(ctx, nil) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			f.t.Error(err)
		}
	})
	f.t.Cleanup(stop)
	return stop
}

// script runs SQL on the test's database.
func (f *fixture) script(sql string) {
	f.t.Helper()
	if err := f.store.Script(f.t.Context(), sql); err != nil {
		f.t.Fatalf("%s: %v", sql, err)
	}
}

// query is an answer as text, one row a line, NULL as a dash.
func (f *fixture) query(sql string) string {
	f.t.Helper()
	var text strings.Builder
	err := f.store.Query(context.WithoutCancel(f.t.Context()), &dialect.Statement{SQL: sql}, 0, nil, func(values [][]byte) error {
		for i, v := range values {
			if i > 0 {
				text.WriteByte('|')
			}
			if v == nil {
				v = []byte("-")
			}
			text.Write(v)
		}
		text.WriteByte('\n')
		return nil
	})
	if err != nil {
		f.t.Fatalf("%s: %v", sql, err)
	}
	return text.String()
}

// response is an answer that has been read.
type response struct {
	status int
	header http.Header
	body   string
}

// request sends a request; change makes it another than an operator's own.
func (f *fixture) request(method, path, body string, change ...func(*http.Request)) response {
	f.t.Helper()
	request, err := http.NewRequestWithContext(f.t.Context(), method, f.url+path, strings.NewReader(body))
	if err != nil {
		f.t.Fatal(err)
	}
	if f.token != "" {
		request.Header.Set("Authorization", "Bearer "+f.token)
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for _, c := range change {
		c(request)
	}
	answer, err := f.client.Do(request)
	if err != nil {
		f.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		f.t.Fatal(err)
	}
	return response{answer.StatusCode, answer.Header, string(text)}
}

func (f *fixture) get(path string, change ...func(*http.Request)) response {
	f.t.Helper()
	return f.request(http.MethodGet, path, "", change...)
}

// must is an answer that is to be good, read into v where there is one.
func (f *fixture) must(method, path, body string, v any) {
	f.t.Helper()
	r := f.request(method, path, body)
	if r.status >= 300 {
		f.t.Fatalf("%s %s %s: %d %s", method, path, body, r.status, r.body)
	}
	if v != nil {
		if err := json.Unmarshal([]byte(r.body), v); err != nil {
			f.t.Fatalf("%s %s: %v in %s", method, path, err, r.body)
		}
	}
}

func header(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

func called(host string) func(*http.Request) { return func(r *http.Request) { r.Host = host } }

func equal[T any](t testing.TB, what string, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: got +, want -\n%s", what, diff)
	}
}

func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(longest)
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatalf("it did not happen: %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// lines is a log that a test reads.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func (l *lines) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelInfo}))
}
