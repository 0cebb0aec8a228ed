package inbox_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/inbox-wasm/inbox-wasm/abi"
	inbox "github.com/inbox-wasm/inbox-wasm/guest-sdk/go"
	"github.com/inbox-wasm/inbox-wasm/guest-sdk/go/inboxtest"
	"github.com/inbox-wasm/inbox-wasm/host/engine"
	"github.com/inbox-wasm/inbox-wasm/host/outbound"
	"github.com/inbox-wasm/inbox-wasm/internal/testwasm"
)

func TestHTTPOnTheRealHost(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/silent" {
			<-r.Context().Done()
			return
		}
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Key", r.Header.Get("Idempotency-Key"))
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write(body)
	}))
	defer server.Close()
	client := outbound.New(outbound.Options{Targets: []outbound.Target{{Origin: server.URL, Private: true}}, MaxResponse: 100})
	defer client.Close()
	runtime, err := engine.New(t.Context(), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = runtime.Close(context.Background()) })
	module, err := runtime.Load(t.Context(), testwasm.Go(t, "testdata/sends"), engine.Limits{Allowed: []string{"http"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = module.Close(context.Background()) })
	send := func(url, path string, payload []byte, requests engine.Requests) string {
		t.Helper()
		instance, err := module.NewInstance(t.Context(), engine.Settings{Config: map[string]string{"url": url}, HTTP: requests})
		if err != nil {
			t.Fatal(err)
		}
		defer instance.Close(context.Background())
		r := instance.Handle(t.Context(), &engine.Message{ID: []byte("7"), Payload: payload, Headers: []byte(`{"path":"` + path + `"}`), Timeout: 10 * time.Second})
		if r.Code != abi.DeadLetter {
			t.Fatalf("%+v", r)
		}
		return r.Reason
	}
	for _, c := range []struct {
		url, path string
		payload   []byte
		requests  engine.Requests
		want      string
	}{
		{server.URL, "/", []byte("hi"), client.Do, "503 7 [104 105]"},
		{server.URL, "/", []byte{0xff, 0}, client.Do, "503 7 [255 0]"},
		{server.URL, "/silent", nil, client.Do, "http: Post \"" + server.URL + "/silent\": context deadline exceeded"},
		{server.URL, "/", []byte(strings.Repeat("x", 101)), client.Do, "http: the response is beyond limits.http_response, though the request was sent"},
		{"https://other.example", "/", nil, client.Do, "http: the handler may not ask this address: see allow.http in inbox.toml"},
		{server.URL, "/", nil, nil, "http: the handler may not ask this address: see allow.http in inbox.toml"},
		{"no url", "", nil, client.Do, "http: this is no request: its method, URL, headers or body"},
	} {
		if got := send(c.url, c.path, c.payload, c.requests); got != c.want {
			t.Errorf("%s%s: %q, want %q", c.url, c.path, got, c.want)
		}
	}
}

func TestHTTPOnTheFakeHost(t *testing.T) {
	host := inboxtest.New(t, nil)
	handle := func(m *inbox.Message) error {
		r, err := inbox.Send(&inbox.Request{URL: "https://api.example/x", Headers: map[string]string{"a": "b"}, Body: m.Payload(), Timeout: time.Second})
		if err != nil {
			return err
		}
		return inbox.Drop(string(r.Body))
	}
	if r := host.Deliver(handle, inboxtest.Message{}); r.Outcome != inboxtest.RetryAfter || !strings.Contains(r.Reason, "may not ask") {
		t.Errorf("without a server: %+v", r)
	}
	host.HTTP = func(r *inbox.Request) (*inbox.Response, error) {
		if string(r.Body) == "fail" {
			return nil, &inbox.HTTPError{Message: "nobody is there", Timeout: true}
		}
		if r.URL != "https://api.example/x" || r.Headers["a"] != "b" || r.Timeout != time.Second {
			return nil, errors.New("another request")
		}
		return &inbox.Response{Status: 200, Body: append([]byte("re: "), r.Body...)}, nil
	}
	if r := host.Deliver(handle, inboxtest.Message{Payload: []byte("x")}); r.Outcome != inboxtest.Drop || r.Reason != "re: x" {
		t.Errorf("%+v", r)
	}
	if r := host.Deliver(handle, inboxtest.Message{Payload: []byte("fail")}); r.Reason != "http: nobody is there" {
		t.Errorf("%+v", r)
	}
}
