package outbound

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/net/dns/dnsmessage"

	"github.com/inbox-wasm/inbox-wasm/abi"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// client is closed with the test.
func client(t *testing.T, o Options) *Client {
	t.Helper()
	if o.MaxResponse == 0 {
		o.MaxResponse = 1 << 20
	}
	c := New(o)
	t.Cleanup(c.Close)
	return c
}

func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// echo answers with what it was asked.
func echo(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.Header().Set("X-Method", r.Method)
	w.Header().Add("X-Several", "a")
	w.Header().Add("X-Several", "b")
	w.Header().Set("X-Auth", r.Header.Get("Authorization"))
	w.Header().Set("X-Path", r.URL.RequestURI())
	w.WriteHeader(http.StatusTeapot)
	_, _ = w.Write(body)
}

func ask(t *testing.T, c *Client, request string) (response, abi.Errno) {
	t.Helper()
	text, errno := c.Do(t.Context(), []byte(request))
	var r response
	if errno == 0 {
		if err := json.Unmarshal(text, &r); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	return r, errno
}

func TestRequestAndResponse(t *testing.T) {
	url := serve(t, echo)
	c := client(t, Options{Targets: []Target{{url, true}}})
	r, errno := ask(t, c, `{"method":"POST","url":"`+url+`/a?b=c","headers":{"authorization":"Bearer x"},"body":"hello ü"}`)
	if errno != 0 || r.Status != http.StatusTeapot || r.Body == nil || *r.Body != "hello ü" || r.BodyBase64 != nil || r.Headers["x-method"] != "POST" ||
		r.Headers["x-several"] != "a, b" || r.Headers["x-auth"] != "Bearer x" || r.Headers["x-path"] != "/a?b=c" {
		t.Errorf("%v: %+v", errno, r)
	}
	binary := base64.StdEncoding.EncodeToString([]byte{0, 0xff, 1})
	if r, errno := ask(t, c, `{"method":"PUT","url":"`+url+`","body_base64":"`+binary+`"}`); errno != 0 || r.BodyBase64 == nil || *r.BodyBase64 != binary {
		t.Errorf("%v: %+v", errno, r)
	}
	if r, errno := ask(t, c, `{"url":"`+url+`"}`); errno != 0 || r.Headers["x-method"] != "GET" || *r.Body != "" {
		t.Errorf("%v: %+v", errno, r)
	}
}

func TestWhatIsNoRequest(t *testing.T) {
	url := serve(t, echo)
	c := client(t, Options{Targets: []Target{{url, true}}})
	for _, request := range []string{
		``, `[]`, `{}`, `{"url":1}`, `{"url":"` + url + `","surprise":1}`, `{"url":"` + url + `"} x`, `{"url":"` + url + `","body":"a","body_base64":"YQ=="}`,
		`{"url":"` + url + `","body_base64":"!"}`, `{"url":"` + url + `","method":"CONNECT"}`, `{"url":"` + url + `","method":"GET POST"}`,
		`{"url":"` + url + `","timeout_ms":-1}`, `{"url":"ftp://a.example"}`, `{"url":"` + strings.Replace(url, "//", "//user:pw@", 1) + `"}`,
		`{"url":"` + url + `","headers":{"Host":"other"}}`, `{"url":"` + url + `","headers":{"connection":"close"}}`,
		`{"url":"` + url + `","headers":{"transfer-encoding":"chunked"}}`, `{"url":"` + url + `","headers":{"a b":"c"}}`,
		`{"url":"` + url + `","headers":{"x":"a\r\nInjected: yes"}}`, `{"url":"` + url + `","headers":{"x\r\nInjected":"yes"}}`, `{"url":"http:` + url[7:] + `"}`,
		`{"url":"` + url + `\\@evil.example"}`, "{\"url\":\"" + url + "\",\"body\":\"\xff\"}",
	} {
		if r, errno := ask(t, c, request); errno != abi.BadArgument {
			t.Errorf("%s: %v, %+v", request, errno, r)
		}
	}
}

// Every way to write another address, or the same one otherwise, is another origin.
func TestOriginsThatAreNotAllowed(t *testing.T) {
	var asked atomic.Int64
	url := serve(t, func(http.ResponseWriter, *http.Request) { asked.Add(1) })
	port := url[strings.LastIndex(url, ":")+1:]
	c := client(t, Options{Targets: []Target{{url, true}, {"https://api.example", false}}})
	for _, other := range []string{
		"https://127.0.0.1:" + port, "http://127.0.0.1", "http://127.0.0.1:1", "http://localhost:" + port, "http://127.1:" + port, "http://2130706433:" + port,
		"http://0x7f000001:" + port, "http://0177.0.0.1:" + port, "http://[::1]:" + port, "http://[::ffff:127.0.0.1]:" + port, "http://127.0.0.1.:" + port,
		"http://0.0.0.0:" + port, "http://evil.example#@127.0.0.1:" + port, "http://127.0.0.1.evil.example:" + port, "http://api.example", "https://api.example.",
		"https://api.example:444", "https://xapi.example", "https://api.example.evil.example", "https://ａｐｉ.example",
	} {
		if r, errno := ask(t, c, `{"url":"`+other+`/"}`); errno != abi.NotAllowed && errno != abi.BadArgument {
			t.Errorf("%s: %v, %+v", other, errno, r)
		}
	}
	if asked.Load() != 0 {
		t.Errorf("%d requests arrived", asked.Load())
	}
	for _, same := range []string{strings.ToUpper(url[:4]) + url[4:], url + "/", url + "?x"} {
		if _, errno := ask(t, c, `{"url":"`+same+`"}`); errno != 0 {
			t.Errorf("%s: %v", same, errno)
		}
	}
}

func TestAddressesOfPrivateNetworks(t *testing.T) {
	for _, ip := range []string{"127.0.0.1", "127.9.9.9", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1",
		"255.255.255.255", "198.18.0.1", "192.0.0.8", "240.0.0.1", "::", "::1", "fe80::1", "fc00::1", "fd12::1", "ff02::1", "::ffff:10.0.0.1", "::7f00:1",
		"64:ff9b::7f00:1", "64:ff9b:1::1", "2002:7f00:1::", "2001::1", "2001:db8::1", "fec0::1"} {
		if publicOnly(net.ParseIP(ip)) == nil {
			t.Errorf("%s is taken for public", ip)
		}
	}
	for _, ip := range []string{"1.1.1.1", "93.184.216.34", "2606:4700::1111"} {
		if err := publicOnly(net.ParseIP(ip)); err != nil {
			t.Errorf("%s: %v", ip, err)
		}
	}
	if publicOnly(nil) == nil || allButNone(nil) == nil {
		t.Error("no address is taken for one")
	}
}

// dns is a name server on the loopback that answers every name with the addresses in turn.
func dns(t *testing.T, addresses ...[4]byte) *net.Resolver {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 1500)
		for turn := 0; ; {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buf[:n]) != nil || len(m.Questions) != 1 {
				continue
			}
			m.Response = true
			m.Additionals = nil
			if q := m.Questions[0]; q.Type == dnsmessage.TypeA {
				m.Answers = []dnsmessage.Resource{{Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class, TTL: 0},
					Body: &dnsmessage.AResource{A: addresses[min(turn, len(addresses)-1)]}}}
				turn++
			}
			if answer, err := m.Pack(); err == nil {
				_, _ = conn.WriteTo(answer, from)
			}
		}
	}()
	t.Cleanup(func() { conn.Close(); <-done })
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

// A public name that resolves to a private address is refused when it is connected to, also where it resolved to
// another one before.
func TestNamesCannotChangeTheirMind(t *testing.T) {
	var asked atomic.Int64
	url := serve(t, func(http.ResponseWriter, *http.Request) { asked.Add(1) })
	port := url[strings.LastIndex(url, ":"):]
	resolver := dns(t, [4]byte{127, 0, 0, 1})
	public := client(t, Options{Targets: []Target{{"http://api.example" + port, false}}, Resolver: resolver})
	if _, errno := ask(t, public, `{"url":"http://api.example`+port+`"}`); errno != abi.NotAllowed {
		t.Errorf("%v", errno)
	}
	if asked.Load() != 0 {
		t.Error("the request arrived")
	}
	private := client(t, Options{Targets: []Target{{"http://api.example" + port, true}}, Resolver: resolver})
	if _, errno := ask(t, private, `{"url":"http://api.example`+port+`"}`); errno != 0 || asked.Load() != 1 {
		t.Errorf("declared private: %v", errno)
	}
	rebound := client(t, Options{Targets: []Target{{"http://api.example" + port, true}, {"http://other.example" + port, false}}, Resolver: dns(t, [4]byte{127, 0, 0, 1})})
	if _, errno := ask(t, rebound, `{"url":"http://other.example`+port+`"}`); errno != abi.NotAllowed {
		t.Errorf("beside a private one: %v", errno)
	}
}

func TestRedirectsAreJudged(t *testing.T) {
	var secret atomic.Value
	secret.Store("")
	third := serve(t, func(w http.ResponseWriter, r *http.Request) { secret.Store("arrived") })
	second := serve(t, echo)
	first := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		case "/within":
			http.Redirect(w, r, "/end", http.StatusTemporaryRedirect)
		case "/allowed":
			http.Redirect(w, r, second+"/next", http.StatusTemporaryRedirect)
		case "/elsewhere":
			http.Redirect(w, r, third, http.StatusFound)
		case "/file":
			http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
		default:
			echo(w, r)
		}
	})
	c := client(t, Options{Targets: []Target{{first, true}, {second, true}}})
	ask := func(path string) (response, abi.Errno) {
		return ask(t, c, `{"method":"POST","url":"`+first+path+`","headers":{"Authorization":"secret"},"body":"b"}`)
	}
	if r, errno := ask("/within"); errno != 0 || r.Headers["x-auth"] != "secret" || *r.Body != "b" {
		t.Errorf("within: %v, %+v", errno, r)
	}
	if r, errno := ask("/allowed"); errno != 0 || r.Headers["x-auth"] != "" || r.Headers["x-path"] != "/next" {
		t.Errorf("to another allowed one: %v, %+v", errno, r)
	}
	for _, path := range []string{"/elsewhere", "/file"} {
		if r, errno := ask(path); errno != abi.NotAllowed {
			t.Errorf("%s: %v, %+v", path, errno, r)
		}
	}
	if secret.Load() != "" {
		t.Error("the redirect was followed")
	}
	if _, errno := ask("/loop"); errno != abi.Failed {
		t.Errorf("a loop: %v", errno)
	}
}

func TestResponsesAreLimited(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/exact":
			_, _ = w.Write(bytes.Repeat([]byte("x"), 1000))
		case "/declared":
			_, _ = w.Write(bytes.Repeat([]byte("x"), 1001))
		case "/endless":
			for r.Context().Err() == nil {
				_, _ = w.Write(bytes.Repeat([]byte("x"), 1000))
				w.(http.Flusher).Flush()
			}
		case "/headers":
			w.Header().Set("X-Long", strings.Repeat("x", 1<<20))
		}
	})
	c := client(t, Options{Targets: []Target{{url, true}}, MaxResponse: 1000})
	for path, want := range map[string]abi.Errno{"/exact": 0, "/declared": abi.TooLarge, "/endless": abi.TooLarge, "/headers": abi.Failed} {
		if _, errno := ask(t, c, `{"url":"`+url+path+`"}`); errno != want {
			t.Errorf("%s: %v, want %v", path, errno, want)
		}
	}
}

// A certificate that nobody vouches for is refused.
func TestCertificatesAreVerified(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(echo))
	defer s.Close()
	s.Config.ErrorLog = nil
	request := `{"url":"` + s.URL + `"}`
	if _, errno := ask(t, client(t, Options{Targets: []Target{{s.URL, true}}}), request); errno != abi.Failed {
		t.Errorf("%v", errno)
	}
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	if r, errno := ask(t, client(t, Options{Targets: []Target{{s.URL, true}}, Roots: roots}), request); errno != 0 || r.Status != http.StatusTeapot {
		t.Errorf("%v: %+v", errno, r)
	}
}

// Whatever the server does, the deadline ends the request: it does not answer, answers a byte at a time, or is
// not there.
func TestDeadlines(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/drip" {
			for r.Context().Err() == nil {
				_, _ = w.Write([]byte("x"))
				w.(http.Flusher).Flush()
				select {
				case <-r.Context().Done():
				case <-time.After(5 * time.Millisecond):
				}
			}
			return
		}
		<-r.Context().Done()
	})
	c := client(t, Options{Targets: []Target{{url, true}}})
	for _, path := range []string{"/silent", "/drip"} {
		const limit = 50 * time.Millisecond
		best := time.Hour
		for range 10 {
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			began := time.Now()
			_, errno := c.Do(ctx, []byte(`{"url":"`+url+path+`"}`))
			best = min(best, time.Since(began)-limit)
			cancel()
			if errno != abi.DeadlinePassed {
				t.Fatalf("%s: %v", path, errno)
			}
			if best < 10*time.Millisecond {
				break
			}
		}
		if best >= 10*time.Millisecond {
			t.Errorf("%s: it ended %v past the deadline", path, best)
		}
		text, errno := c.Do(t.Context(), []byte(`{"url":"`+url+path+`","timeout_ms":30}`))
		if errno != abi.Failed || !strings.Contains(string(text), `"timeout":true`) {
			t.Errorf("%s: %v, %s", path, errno, text)
		}
	}
	nobody := client(t, Options{Targets: []Target{{"http://127.0.0.1:1", true}}})
	if text, errno := nobody.Do(t.Context(), []byte(`{"url":"http://127.0.0.1:1/"}`)); errno != abi.Failed || !strings.Contains(string(text), `"timeout":false`) {
		t.Errorf("%v, %s", errno, text)
	}
}

// The environment's proxy is not asked.
func TestNoProxy(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("http_proxy", "http://127.0.0.1:1")
	resolver := dns(t, [4]byte{127, 0, 0, 1})
	url := serve(t, echo)
	origin := fmt.Sprintf("http://api.example:%s", url[strings.LastIndex(url, ":")+1:])
	if _, errno := ask(t, client(t, Options{Targets: []Target{{origin, true}}, Resolver: resolver}), `{"url":"`+origin+`"}`); errno != 0 {
		t.Errorf("%v", errno)
	}
}
