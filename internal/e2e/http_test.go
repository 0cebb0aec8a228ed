package e2e

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

const httpToken = "a-token-for-these-tests"

// freeAddress is one of the loopback where nobody listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// get is the answer of a running process, without a proxy; "" where nobody answers.
func get(t *testing.T, address, path string) string {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get("http://" + address + path)
	if err != nil {
		return ""
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.Status + " " + string(body)
}

// A running process is spoken to by its commands: enqueue wakes it, pause and resume are heard, and it answers who asks
// for its health until it ends.
func TestARunningProcessIsSpokenTo(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, database testdb.Database) {
		t.Parallel()
		address := freeAddress(t)
		b := newInbox(t, database, options{
			module: slow(t), handler: `poll_interval = "1h"`,
			runtime: fmt.Sprintf("listen_http = %q\nhttp_token = %q", address, httpToken),
		})
		failing := func(want string, args ...string) {
			t.Helper()
			p := b.start(args...)
			if p.code() != 1 {
				t.Errorf("%v: exit code %d", args, p.code())
			}
			said, err := os.ReadFile(p.log)
			if err != nil || !strings.Contains(string(said), want) {
				t.Errorf("%v says %s, want %s", args, said, want)
			}
		}
		failing("nobody listens there", "pause", "work")
		b.enqueue("0") // nobody hears it

		p := b.start("serve")
		eventually(t, "the process is ready", func() bool { return strings.HasPrefix(get(t, address, "/readyz"), "200 ") })
		b.empty()
		b.enqueue("0")
		b.empty()

		if out := b.run("pause", "work"); out != "work is paused\n" {
			t.Errorf("pause prints %s", out)
		}
		b.enqueue("0")
		if !strings.Contains(get(t, address, "/metrics"), `inbox_wasm_paused{handler="work"} 1`) {
			t.Error("the process does not say that it is paused")
		}
		failing(`no handler "wrok" runs here; there are work`, "resume", "wrok")
		if n := b.count(everyRow); n != 1 {
			t.Errorf("%d rows wait while the handler is paused", n)
		}
		if out := b.run("resume", "work", "--json"); !strings.Contains(out, `"paused": false`) {
			t.Errorf("resume prints %s", out)
		}
		b.empty()
		if answer := get(t, address, "/healthz"); answer != "200 OK ok\n" {
			t.Errorf("healthz: %s", answer)
		}
		p.terminate()
		if answer := get(t, address, "/healthz"); answer != "" {
			t.Errorf("after its end the process answers %s", answer)
		}
		log, err := os.ReadFile(p.log)
		if err != nil || strings.Contains(string(log), httpToken) {
			t.Errorf("the log has the token, or cannot be read: %v", err)
		}
		healthy(t, p)
	})
}

// Without an address there is nobody to speak to.
func TestPauseWithoutAnAddress(t *testing.T) {
	t.Parallel()
	b := newInbox(t, testdb.Database{Name: "sqlite", URL: testdb.SQLite(t)}, options{module: slow(t)})
	p := b.start("pause", "work")
	if p.code() != 1 {
		t.Errorf("exit code %d", p.code())
	}
	if said, err := os.ReadFile(p.log); err != nil || !strings.Contains(string(said), `runtime.listen_http is not set`) {
		t.Errorf("it says %s", said)
	}
}
