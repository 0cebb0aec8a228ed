package web

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/host/admin"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// enqueue writes payloads into a group.
func (f *fixture) enqueue(group string, payloads ...string) {
	f.t.Helper()
	messages := make([]forms.Message, len(payloads))
	for i, p := range payloads {
		messages[i] = forms.Message{Group: group, Payload: []byte(p)}
	}
	if err := f.service.Enqueue(f.t.Context(), "jobs", messages); err != nil {
		f.t.Fatal(err)
	}
}

// refused is a request that is to be refused with a status and a part of the reason.
func (f *fixture) refused(method, path, body string, status int, why string) {
	f.t.Helper()
	r := f.request(method, path, body)
	if r.status != status || !strings.Contains(r.body, `{"error":"`) || !strings.Contains(r.body, why) {
		f.t.Errorf("%s %s %s: %d %s, want %d with %q", method, path, body, r.status, r.body, status, why)
	}
}

const mortal = "max_attempts = 3\ndead_letter = \"failed\""

// What the page shows of handlers comes from what the process knows of itself.
func TestHandlers(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		f := open(t, db.URL, "", jobs+handler(t, "work", mortal+"\nthreads = 2")+handler(t, "more", ""))
		f.enqueue("work", "ok", "ok", "kill")
		f.run()
		var view handlersView
		eventually(t, "the rows are handled and the tables counted", func() bool {
			f.must("GET", "/api/handlers", "", &view)
			w := view.Handlers[0]
			return w.Counts.Acked == 2 && w.Counts.DeadLettered == 1 && w.Depth != nil && view.Ready
		})
		w := view.Handlers[0]
		equal(t, "handlers", fmt.Sprintln(len(view.Handlers), w.Handler, view.Handlers[1].Handler), "2 work more\n")
		equal(t, "where it works", fmt.Sprintln(w.Table, w.Group, w.Form, w.Threads, w.Paused), "jobs work lease 2 false\n")
		equal(t, "dead letters", *w.DeadLetter, target{"jobs", "failed"})
		if view.Handlers[1].DeadLetter != nil {
			t.Error("a handler without dead letters has a place for them")
		}
		if len(w.Module.Hash) != 64 || w.Module.ABI != "inbox_v1" || w.Module.Size == 0 || w.Module.MemoryLimit != 64<<20 || w.Module.Loaded.IsZero() || w.Memory == 0 {
			t.Errorf("the module: %+v, memory %d", w.Module, w.Memory)
		}
		last := w.Duration.Buckets[len(w.Duration.Buckets)-1]
		if w.Duration.Count != 3 || last.Count != 3 || w.Duration.Sum <= 0 {
			t.Errorf("the time in the handler: %+v", w.Duration)
		}
		if strings.Contains(view.Database, "postgres@") && strings.Contains(view.Database, "sslmode") {
			t.Errorf("the database's URL is told with its parameters: %s", view.Database)
		}
		if r := f.get("/metrics"); r.status != 200 || !strings.Contains(r.body, `inbox_wasm_deliveries_total{handler="work",outcome="acked"} 2`) || !strings.HasPrefix(r.header.Get("Content-Type"), "text/plain") {
			t.Errorf("metrics: %d %s", r.status, r.header.Get("Content-Type"))
		}
		if r := f.get("/readyz"); r.status != 200 || r.body != "ready\n" {
			t.Errorf("readyz: %d %s", r.status, r.body)
		}
	})
}

// A pause over HTTP is the service's, and whoever asks for another handler hears which there are.
func TestPauseOverHTTP(t *testing.T) {
	f := open(t, testdb.SQLite(t), "", jobs+handler(t, "work", "")+strings.Replace(handler(t, "more", ""), "more", `"a.b"`, 1))
	f.run()
	var view pausedView
	f.must("POST", "/api/handlers/work/pause", "", &view)
	equal(t, "the pause", view, pausedView{"work", true})
	if !f.service.Paused("work") {
		t.Error("the handler is not paused")
	}
	f.must("POST", "/api/handlers/a.b/pause", "", nil)
	if !f.service.Paused("a.b") {
		t.Error("a handler with a dot in its name is not paused")
	}
	f.must("POST", "/api/handlers/work/resume", "{}", &view)
	if view.Paused || f.service.Paused("work") {
		t.Error("the handler is paused still")
	}
	f.refused("POST", "/api/handlers/wrok/pause", "", 404, `there are work, a.b`)
}

// Rows that somebody else has written are claimed at once after a wake.
func TestWakeOverHTTP(t *testing.T) {
	f := open(t, testdb.SQLite(t), "", jobs+strings.Replace(handler(t, "work", ""), "50ms", "1h", 1))
	f.run()
	f.enqueue("work", "ok")
	eventually(t, "the first row is handled", func() bool { return f.service.Counts("work").Acked == 1 })
	f.script("INSERT INTO jobs (name, payload) VALUES ('work', CAST('ok' AS BLOB))")
	f.must("POST", "/api/wake", `{"table":"jobs","group":"another"}`, nil)
	for _, body := range []string{`{"table":"jobs","group":"work"}`, `{"table":"jobs"}`} {
		before := f.service.Counts("work").Acked
		f.must("POST", "/api/wake", body, nil)
		eventually(t, "the row is handled", func() bool { return f.service.Counts("work").Acked == before+1 })
		f.script("INSERT INTO jobs (name, payload) VALUES ('work', CAST('ok' AS BLOB))")
	}
	f.refused("POST", "/api/wake", `{"table":"sobj"}`, 404, "no table")
}

// Rows are listed and looked at, and what is asked in a wrong way is refused.
func TestRows(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		f := open(t, db.URL, "", jobs+handler(t, "work", mortal))
		f.enqueue("work", "first", "second", strings.Repeat("x", 1<<20))
		f.enqueue("failed", "dead")
		var list rowsView
		f.must("GET", "/api/tables/jobs/rows?limit=2&group=work", "", &list)
		if len(list.Rows) != 2 || !list.More || string(list.Rows[0].Payload) != "first" || list.Rows[0].State != admin.Due {
			t.Errorf("the first rows: %+v", list)
		}
		f.must("GET", "/api/tables/jobs/rows?limit=2&group=work&offset=2", "", &list)
		if len(list.Rows) != 1 || list.More || len(list.Rows[0].Payload) != listPreview || *list.Rows[0].PayloadSize != 1<<20 {
			t.Errorf("the rows behind them: %d, %v", len(list.Rows), list.More)
		}
		large := list.Rows[0].ID
		f.must("GET", "/api/tables/jobs/rows?state=dead", "", &list)
		if len(list.Rows) != 1 || list.Rows[0].State != admin.Dead {
			t.Errorf("the dead letters: %+v", list)
		}
		var row admin.Row
		f.must("GET", "/api/tables/jobs/row?id="+large, "", &row)
		equal(t, "the beginning of a payload", len(row.Payload), rowPreview)
		r := f.get("/api/tables/jobs/payload?id=" + large)
		if r.body != strings.Repeat("x", 1<<20) || r.header.Get("Content-Type") != "application/octet-stream" || !strings.HasPrefix(r.header.Get("Content-Disposition"), "attachment") {
			t.Errorf("a payload: %d bytes, %v", len(r.body), r.header)
		}
		for path, want := range map[string]struct {
			status int
			why    string
		}{
			"sobj/rows":               {400, "there are: jobs"},
			"jobs/rows?state=tired":   {400, "a row is never"},
			"jobs/rows?limit=0":       {400, "limit is to be a number from 1 to 1000"},
			"jobs/rows?limit=1001":    {400, "limit"},
			"jobs/rows?offset=-1":     {400, "offset"},
			"jobs/rows?preview=99999": {400, "preview"},
			"jobs/rows?id=x%27--":     {400, "the key"},
			"jobs/row":                {400, "name the row"},
			"jobs/row?id=4711":        {404, "the row is not there"},
			"jobs/payload?id=4711":    {404, "the row is not there"},
		} {
			f.refused("GET", "/api/tables/"+path, "", want.status, want.why)
		}
		var counted tablesView
		f.must("GET", "/api/tables", "", &counted)
		if len(counted.Tables) != 1 || counted.Tables[0].Table != "jobs" || counted.At.IsZero() {
			t.Errorf("tables: %+v", counted)
		}
	})
}

// Dead letters go back, rows are deleted and called off, after a plan that changes nothing.
func TestMoving(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		f := open(t, db.URL, "", jobs+handler(t, "work", mortal))
		groups := func() string { return strings.Join(strings.Fields(f.query("SELECT name FROM jobs ORDER BY id")), " ") }
		f.enqueue("failed", "a", "b", "c", "d")
		f.enqueue("work", "e")
		var list rowsView
		f.must("GET", "/api/tables/jobs/rows?group=failed", "", &list)
		one, other := list.Rows[0].ID, list.Rows[1].ID
		var moves movesView
		f.must("POST", "/api/tables/jobs/redrive", `{"plan":true}`, &moves)
		equal(t, "planned", moves.Rows, 4)
		equal(t, "rows after a plan", groups(), "failed failed failed failed work")
		f.must("POST", "/api/tables/jobs/redrive", fmt.Sprintf(`{"ids":[%q]}`, one), &moves)
		equal(t, "moved", moves.Rows, 1)
		equal(t, "rows after one went back", groups(), "work failed failed failed work")
		var count countView
		f.must("POST", "/api/tables/jobs/purge", fmt.Sprintf(`{"state":"dead","ids":[%q],"plan":true}`, other), &count)
		equal(t, "to be deleted", count.Rows, 1)
		f.must("POST", "/api/tables/jobs/purge", fmt.Sprintf(`{"state":"dead","ids":[%q]}`, other), &count)
		equal(t, "rows after one was deleted", groups(), "work failed failed work")
		f.must("POST", "/api/tables/jobs/purge", `{"state":"dead","group":"failed"}`, &count)
		equal(t, "deleted", count.Rows, 2)
		f.must("POST", "/api/tables/jobs/cancel", fmt.Sprintf(`{"ids":[%q]}`, one), &count)
		equal(t, "called off", count.Rows, 1)
		for _, wrong := range []struct{ path, body, why string }{
			{"redrive", `{"ids":[]}`, "leave it out for all"}, {"purge", `{"state":"dead","ids":[]}`, "leave it out for all"}, {"cancel", `{}`, "name the rows"},
			{"purge", `{"state":"due"}`, "processed or dead"}, {"redrive", `{"to":"failed"}`, "failed"}, {"cancel", `{"ids":["x"]}`, "the key"}, {"purge", `{"status":"dead"}`, "status"},
		} {
			f.refused("POST", "/api/tables/jobs/"+wrong.path, wrong.body, 400, wrong.why)
		}
		f.server.moving <- struct{}{}
		f.refused("POST", "/api/tables/jobs/purge", `{"state":"dead"}`, 409, "already")
		<-f.server.moving
		f.server.loading <- struct{}{}
		f.refused("GET", "/api/tables/jobs/payload?id="+one, "", 429, "another payload")
		<-f.server.loading
	})
}

// Dead letters that go back are claimed at once, however rarely the handler polls.
func TestRedriveWakes(t *testing.T) {
	f := open(t, testdb.SQLite(t), "", jobs+strings.Replace(handler(t, "work", mortal), "50ms", "1h", 1))
	f.run()
	f.enqueue("work", "kill")
	eventually(t, "the row has died", func() bool { return f.service.Counts("work").DeadLettered == 1 })
	f.script("UPDATE jobs SET payload = CAST('ok' AS BLOB)")
	f.must("POST", "/api/tables/jobs/redrive", "{}", nil)
	eventually(t, "it is handled", func() bool { return f.service.Counts("work").Acked == 1 })
}

// A reload answers what has changed, and a bad one why what runs goes on.
func TestReloadOverHTTP(t *testing.T) {
	url := testdb.SQLite(t)
	toml := jobs + handler(t, "work", "")
	f := open(t, url, "", toml)
	f.run()
	reparse := func(toml string) {
		next := parse(t, url, "", toml)
		next.Runtime = f.config.Runtime // listens where it does, and keeps its cache
		f.config = next
	}
	reparse(toml + handler(t, "more", ""))
	var view reloadedView
	f.must("POST", "/api/reload", "", &view)
	equal(t, "the reload", view, reloadedView{Kept: []string{"work"}, Changed: []string{}, Added: []string{"more"}, Removed: []string{}})
	f.must("POST", "/api/handlers/more/pause", "", nil)
	reparse(strings.ReplaceAll(toml, "faces.wat.wasm", "nothing.wasm"))
	f.refused("POST", "/api/reload", "", http.StatusUnprocessableEntity, "nothing.wasm")
	if handlers := f.service.Handlers(); len(handlers) != 2 {
		t.Errorf("after a bad reload %d handlers run", len(handlers))
	}
}

// Many viewers cost one answer.
func TestViewersShareAnswers(t *testing.T) {
	f := open(t, testdb.SQLite(t), "", jobs+handler(t, "work", ""))
	var first, second tablesView
	f.must("GET", "/api/tables", "", &first)
	f.enqueue("work", "ok")
	f.must("GET", "/api/tables", "", &second)
	equal(t, "what another viewer sees", second, first)
	f.must("POST", "/api/tables/jobs/purge", `{"state":"processed"}`, nil) // what changes rows has them counted anew
	f.must("GET", "/api/tables", "", &second)
	if len(second.Tables[0].Groups) == 0 || second.Tables[0].Groups[0].Due != 1 {
		t.Errorf("after a change: %+v", second)
	}
}

// The client speaks to the server, and says what is wrong in words for an operator.
func TestClient(t *testing.T) {
	f := open(t, testdb.SQLite(t), withToken, jobs+handler(t, "work", ""))
	f.run()
	cfg := *f.config
	cfg.Runtime.ListenHTTP = f.server.Address()
	client, err := NewClient(&cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Pause(t.Context(), "work"); err != nil || !f.service.Paused("work") {
		t.Errorf("pause: %v", err)
	}
	if err := client.Resume(t.Context(), "work"); err != nil || f.service.Paused("work") {
		t.Errorf("resume: %v", err)
	}
	if err := client.Wake(t.Context(), "jobs", ""); err != nil {
		t.Errorf("wake: %v", err)
	}
	if err := client.Pause(t.Context(), "../../x"); err == nil || !strings.Contains(err.Error(), `no handler \"../../x\"`) && !strings.Contains(err.Error(), `no handler "../../x"`) {
		t.Errorf("an unknown handler: %v", err)
	}
	cfg.Runtime.HTTPToken = "another-token-than-that"
	if client, err = NewClient(&cfg); err != nil {
		t.Fatal(err)
	}
	if err := client.Pause(t.Context(), "work"); err == nil || !strings.Contains(err.Error(), "the token is wrong") || strings.Contains(err.Error(), "another-token") {
		t.Errorf("a wrong token: %v", err)
	}
	if err := f.server.Close(); err != nil {
		t.Fatal(err)
	}
	if err := client.Pause(t.Context(), "work"); err == nil || !strings.Contains(err.Error(), "nobody listens there") {
		t.Errorf("nobody there: %v", err)
	}
	cfg.Runtime.ListenHTTP = ""
	if _, err := NewClient(&cfg); err != ErrNoAddress {
		t.Errorf("no address: %v", err)
	}
	cfg.Runtime.ListenHTTP = ":9464"
	if client, err = NewClient(&cfg); err != nil || client.address != "127.0.0.1:9464" {
		t.Errorf("everywhere: %v", err)
	}
	cfg.Runtime.ListenHTTP = "[::]:9464"
	if client, err = NewClient(&cfg); err != nil || client.address != "[::1]:9464" {
		t.Errorf("everywhere: %v", err)
	}
}
