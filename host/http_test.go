package host

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/inbox-wasm/inbox-wasm/host/config"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
	"github.com/inbox-wasm/inbox-wasm/internal/testwasm"
)

// A handler asks the origin that inbox.toml allows, and the response decides about its row.
func TestHandlerSendsRequests(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Key", r.Header.Get("Idempotency-Key"))
		_, _ = w.Write(body)
	}))
	defer server.Close()
	module := testwasm.Go(t, "../guest-sdk/go/testdata/sends")
	cache := t.TempDir()
	sends := func(allow string) string {
		return fmt.Sprintf("[runtime]\ncache_dir = %q\n[handlers.work]\nmodule = %q\ntable = \"jobs\"\npoll_interval = \"20ms\"\ndead_letter = \"dead\"\n%s\n[handlers.work.config]\nurl = %q\n",
			cache, module, allow, server.URL)
	}
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		b := open(t, db, tables+sends(fmt.Sprintf("allow.http = [{ url = %q, private = true }]\nlimits = { http_response = 10 }", server.URL)), untilEmpty)
		b.enqueue("jobs", "work", "hi", "more than ten bytes")
		b.drain()
		equal(t, "counts", b.counts("work"), Counts{DeadLettered: 2})
		rows := b.rows("jobs", "name", "error")
		if !strings.Contains(rows, "dead|200 1 [104 105]\n") || !strings.Contains(rows, "dead|http: the response is beyond limits.http_response") {
			t.Errorf("%s", rows)
		}
	})
	db := testdb.Database{Name: "sqlite", URL: testdb.SQLite(t)}
	cfg := parse(t, db, tables+sends(""))
	create(t, connect(t, db), cfg)
	_, err := Open(t.Context(), Options{Config: cfg, Log: (&lines{}).logger()})
	var problems config.Problems
	if !errors.As(err, &problems) || !strings.Contains(problems.Error(), `imports inbox_v1.http, which its handler does not allow; write allow = { http = ["https://host"] }`) {
		t.Errorf("without allow: %v", err)
	}
}
