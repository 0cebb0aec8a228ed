package web

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/inbox-wasm/inbox-wasm/host/config"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// dial is a connection by hand.
func dial(t *testing.T, f *fixture) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", "127.0.0.1:"+port(f))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(longest)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// Clients that dribble are cut off: in the header, in the body, and while they wait for nothing.
func TestSlowClients(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		start, drop string
		within      time.Duration
	}{
		"in the header": {"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: ", "x", headerTimeout},
		"in the body":   {"POST /api/wake HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 60000\r\n\r\n{", " ", readTimeout},
		"in the form":   {"POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 60000\r\n\r\ntoken=", "x", readTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := bare(t, "")
			conn := dial(t, f)
			began := time.Now()
			if _, err := io.WriteString(conn, test.start); err != nil {
				t.Fatal(err)
			}
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				_, _ = io.Copy(io.Discard, conn) // until the server ends it
			}()
			tick := time.NewTicker(100 * time.Millisecond)
			defer tick.Stop()
			for {
				select {
				case <-tick.C:
					_, _ = io.WriteString(conn, test.drop) // an error: the server has ended it
					continue
				case <-ended:
				}
				break
			}
			if took := time.Since(began); took < test.within/2 || took > test.within+10*time.Second {
				t.Errorf("the client was cut off after %v, and %v are allowed", took, test.within)
			}
		})
	}
}

// What is too large is refused, and not read.
func TestLargeRequests(t *testing.T) {
	f := bare(t, "")
	large := `{"table":"` + strings.Repeat("x", maxBody) + `"}`
	if r := f.request("POST", "/api/wake", large); r.status != http.StatusRequestEntityTooLarge {
		t.Errorf("a body of %d bytes: %d %s", len(large), r.status, r.body)
	}
	if r := f.get("/healthz", header("X-Large", strings.Repeat("x", 2*maxHeader))); r.status != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("a large header: %d", r.status)
	}
	if r := f.request("POST", "/login", strings.Repeat("x", 2*maxBody), header("Content-Type", "application/x-www-form-urlencoded")); r.status != http.StatusRequestEntityTooLarge {
		t.Errorf("a large form: %d", r.status)
	}
	conn := dial(t, f)
	fmt.Fprintf(conn, "POST /api/wake HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000000000000\r\n\r\n")
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil || !strings.Contains(line, "413") {
		t.Errorf("a body of a terabyte: %s, %v", line, err)
	}
}

// Bodies that are not what is asked for are refused with the reason.
func TestBodies(t *testing.T) {
	f := open(t, testdb.SQLite(t), "", jobs+handler(t, "work", ""))
	for body, want := range map[string]string{
		`{"table":`:                    "the body is not what is asked for",
		`{"tabel":"jobs"}`:             `unknown field "tabel"`,
		`{"table":"jobs"}{}`:           "more than one JSON value",
		`{"table":"jobs"} {"table":1}`: "more than one JSON value",
		`[]`:                           "the body is not what is asked for",
	} {
		if r := f.request("POST", "/api/wake", body); r.status != 400 || !strings.Contains(r.body, want) {
			// The text of an error is in JSON.
			if !strings.Contains(strings.ReplaceAll(r.body, `\"`, `"`), want) {
				t.Errorf("%s: %d %s", body, r.status, r.body)
			}
		}
	}
	for _, kind := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""} {
		if r := f.request("POST", "/api/wake", `{"table":"jobs"}`, header("Content-Type", kind)); r.status != 415 {
			t.Errorf("a body of %q: %d", kind, r.status)
		}
	}
}

// Many clients that do nothing, or nearly nothing, keep nobody out.
func TestCrowd(t *testing.T) {
	f := bare(t, "")
	var conns []net.Conn
	for i := range maxConnections + 20 {
		conn := dial(t, f)
		conns = append(conns, conn)
		if i%2 == 0 {
			fmt.Fprint(conn, "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
		}
	}
	for range 20 {
		fresh := dial(t, f)
		fmt.Fprint(fresh, "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
		line, err := bufio.NewReader(fresh).ReadString('\n')
		if err != nil || !strings.Contains(line, "200") {
			t.Fatalf("beside a crowd: %q, %v", line, err)
		}
	}
	if _, err := io.Copy(io.Discard, conns[0]); err != nil && !strings.Contains(err.Error(), "reset") {
		t.Errorf("the connection that waited for longest: %v", err)
	}
}

// Paths that lead out of the page lead nowhere.
func TestPathsThatLeadOut(t *testing.T) {
	f := bare(t, "")
	for _, path := range []string{
		"/../server.go", "/%2e%2e/server.go", "/..%2fserver.go", "/page/index.html", "/index.html/../../server.go", "/login.html", "//etc/passwd", "/%2fetc%2fpasswd",
		"/api/tables/../../server.go", "/style.css/", "/\\..\\server.go", "/%00", "/app.js%00.css",
	} {
		conn := dial(t, f)
		fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", path)
		answer, err := io.ReadAll(conn)
		if err != nil {
			t.Fatal(err)
		}
		line, _, _ := strings.Cut(string(answer), "\r\n")
		if !strings.Contains(line, "404") && !strings.Contains(line, "400") && !strings.Contains(line, "301") && !strings.Contains(line, "307") || strings.Contains(string(answer), "package web") {
			t.Errorf("%s: %s", path, answer)
		}
	}
	for _, test := range []struct{ method, path string }{
		{"GET", "/api/wake"}, {"GET", "/api/handlers/work/pause"}, {"DELETE", "/api/tables/jobs/rows"}, {"PUT", "/"}, {"POST", "/api/none"}, {"TRACE", "/api/handlers"},
	} {
		if r := f.request(test.method, test.path, ""); r.status != 404 && r.status != 405 {
			t.Errorf("%s %s: %d", test.method, test.path, r.status)
		}
	}
}

// The page's files come with their types, and once.
func TestFiles(t *testing.T) {
	f := bare(t, "")
	for path, kind := range map[string]string{"/": "text/html", "/app.js": "text/javascript", "/style.css": "text/css", "/icon.svg": "image/svg+xml"} {
		r := f.get(path)
		if r.status != 200 || !strings.HasPrefix(r.header.Get("Content-Type"), kind) || r.body == "" {
			t.Errorf("%s: %d %s", path, r.status, r.header.Get("Content-Type"))
		}
		if again := f.get(path, header("If-None-Match", r.header.Get("ETag"))); again.status != 304 || again.body != "" {
			t.Errorf("%s again: %d", path, again.status)
		}
		if head := f.request("HEAD", path, ""); head.status != 200 || head.body != "" {
			t.Errorf("the header of %s: %d", path, head.status)
		}
	}
	for name, a := range assets {
		for _, elsewhere := range []string{"http://", "https://"} {
			text := strings.ReplaceAll(string(a.content), "http://www.w3.org/2000/svg", "")
			if strings.Contains(text, elsewhere) {
				t.Errorf("%s names an address outside the host", name)
			}
		}
		if a.kind == "" {
			t.Errorf("%s has no type", name)
		}
	}
}

// Before there is a service the process lives and is not ready.
func TestBeforeTheService(t *testing.T) {
	f := bare(t, "")
	if r := f.get("/healthz"); r.status != 200 || r.body != "ok\n" {
		t.Errorf("healthz: %d %s", r.status, r.body)
	}
	if r := f.get("/readyz"); r.status != 503 || !strings.HasPrefix(r.body, "starting: ") {
		t.Errorf("readyz: %d %s", r.status, r.body)
	}
	if r := f.get("/readyz", header("Accept", "application/json")); r.status != 503 || !strings.HasPrefix(r.body, `{"ready":false,"reasons":[{"what":"starting: `) {
		t.Errorf("readyz as JSON: %d %s", r.status, r.body)
	}
	for _, path := range []string{"/metrics", "/api/handlers", "/api/tables", "/api/tables/jobs/rows"} {
		if r := f.get(path); r.status != 503 || !strings.Contains(r.body, `"error":"starting`) {
			t.Errorf("%s: %d %s", path, r.status, r.body)
		}
	}
}

// A server that stops ends every request within its bound, and leaves no goroutine: TestMain looks.
func TestStop(t *testing.T) {
	t.Parallel()
	f := bare(t, "")
	idle, slow, half := dial(t, f), dial(t, f), dial(t, f)
	fmt.Fprint(slow, "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
	fmt.Fprint(half, "POST /api/wake HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
	if r := f.get("/healthz"); r.status != 200 {
		t.Fatal(r.status)
	}
	began := time.Now()
	if err := f.server.Close(); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > closeTimeout+5*time.Second {
		t.Errorf("the stop took %v", took)
	}
	for _, conn := range []net.Conn{idle, slow, half} {
		_, _ = io.Copy(io.Discard, conn) // ends
	}
	if _, err := net.Dial("tcp", f.server.Address()); err == nil {
		t.Error("the server listens still")
	}
	if err := f.server.Close(); err != nil {
		t.Errorf("another stop: %v", err)
	}
}

// An address that cannot be listened on is a problem of its key.
func TestAddressInUse(t *testing.T) {
	f := bare(t, "")
	cfg := parse(t, testdb.SQLite(t), "listen_http = \""+f.server.Address()+"\"", jobs+handler(t, "work", ""))
	_, err := New(Options{Config: cfg, Log: f.log.logger()})
	problems, ok := err.(config.Problems)
	if !ok || problems[0].Key != "runtime.listen_http" || problems[0].Line == 0 || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("an address in use: %v", err)
	}
}
