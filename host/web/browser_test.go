package web

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// screenshots names the directory that the pictures of the page are saved in; empty saves none.
const screenshots = "INBOX_SCREENSHOTS"

// The page in a browser, with everything that can be done on it: browser/test.mjs is what is done.
func TestPage(t *testing.T) {
	t.Parallel()
	for _, database := range []struct {
		name   string
		url    func(testing.TB) string
		audits bool // by axe, which takes longest, and does not depend on the database
	}{{"sqlite", testdb.SQLite, true}, {"postgres", testdb.Postgres, false}} {
		t.Run(database.name, func(t *testing.T) {
			t.Parallel()
			f := openPage(t, database.url(t))
			options, err := json.Marshal(map[string]any{
				"url": f.url, "token": secretToken, "chromium": tool(t, "chromium"), "audits": database.audits, "screenshots": os.Getenv(screenshots),
			})
			if err != nil {
				t.Fatal(err)
			}
			f.drive(exec.CommandContext(t.Context(), tool(t, "node"), "browser/test.mjs", string(options)))
		})
	}
}

func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatalf("%s is missing: scripts/install.sh installs it, and what browser/package.json names", name)
	}
	return path
}

// openPage is a service that works on tables with rows in every state.
func openPage(t *testing.T, url string) *fixture {
	t.Helper()
	toml := jobs + strings.Replace(jobs, "[tables.jobs]", "[tables.bare_jobs]", 1) +
		handler(t, "mail", "threads = 2\nmax_attempts = 3\ndead_letter = \"failed\"\nbackoff = { initial = \"50ms\", max = \"100ms\" }") +
		handler(t, "idle", "") + handler(t, "slow", "timeout = \"10m\"") +
		strings.Replace(handler(t, "bare", ""), `table = "jobs"`, `table = "bare_jobs"`, 1)
	f := open(t, url, withToken+"\ndrain_timeout = \"0s\"", toml)
	for _, m := range []struct {
		group, payload string
		delay          time.Duration
		priority       int64
	}{
		{"mail", "kill", 0, 0}, {"mail", "kill", 0, 0}, {"mail", "kill", 0, 0},
		{"idle", "ok", 0, 0}, {"idle", "ok", 0, 0}, {"slow", "Z", 0, 0},
		{"nobody", "ok", time.Hour, 0}, {"nobody", `{"to":"ada@example.com","amount":12345678901234567890.10,"lines":[],"note":"Grüße"}`, 0, 0},
		{"nobody", `<img src=x onerror="document.title='owned'">`, 0, 0}, {"nobody", "\x00\x01\xff binary", 0, 0},
		{"nobody", "cancel me", 0, 0}, {"nobody", strings.Repeat("x", 16<<20), 0, 16},
	} {
		message := forms.Message{Group: m.group, Payload: []byte(m.payload), Delay: m.delay, Priority: &m.priority}
		if err := f.service.Enqueue(t.Context(), "jobs", []forms.Message{message}); err != nil {
			t.Fatal(err)
		}
	}
	f.script("DROP INDEX " + strings.Fields(f.store.Dialect().Schema(f.config.Table("bare_jobs").Declared()).Index)[2])
	f.run()
	eventually(t, "three rows have died", func() bool { return f.service.Counts("mail").DeadLettered == 3 })
	return f
}

// drive runs the browser, answers its questions about the database, and keeps the handlers busy meanwhile.
func (f *fixture) drive(script *exec.Cmd) {
	f.t.Helper()
	var complaints bytes.Buffer
	script.Stderr = &complaints
	script.Cancel = func() error { return script.Process.Kill() }
	in, err := script.StdinPipe()
	if err != nil {
		f.t.Fatal(err)
	}
	out, err := script.StdoutPipe()
	if err != nil {
		f.t.Fatal(err)
	}
	if err := script.Start(); err != nil {
		f.t.Fatal(err)
	}
	working, rest := context.WithCancel(f.t.Context())
	var producing sync.WaitGroup
	producing.Go(func() { f.busy(working) })
	defer producing.Wait()
	defer rest()
	last := "the start"
	began := time.Now()
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var line struct{ SQL, Step string }
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			f.t.Logf("the script says %s", lines.Text())
			continue
		}
		if line.Step != "" {
			last = line.Step
			f.t.Logf("%6.1f s: %s", time.Since(began).Seconds(), last)
			continue
		}
		answer, err := json.Marshal(f.ask(line.SQL))
		if err != nil {
			f.t.Fatal(err)
		}
		fmt.Fprintf(in, "%s\n", answer)
	}
	if err := script.Wait(); err != nil || last != "done" {
		f.t.Fatalf("while: %s: %v\n%s", last, err, tail(&complaints))
	}
}

func tail(text io.Reader) string {
	all, _ := io.ReadAll(text) // of a buffer
	return string(all[max(0, len(all)-8000):])
}

// ask runs a statement of the script.
func (f *fixture) ask(sql string) string {
	if strings.HasPrefix(sql, "SELECT") {
		return f.query("WITH answer (value) AS (" + sql + ") SELECT CAST(value AS TEXT) FROM answer")
	}
	f.script(sql)
	return ""
}

// busy writes rows for the handler whose charts are looked at, some of which fail at first.
func (f *fixture) busy(ctx context.Context) {
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	for i := 0; ; i++ {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		payload := "zzz"
		if i%12 == 0 {
			payload = "3 at the third attempt"
		}
		if err := f.service.Enqueue(ctx, "jobs", []forms.Message{{Group: "mail", Payload: []byte(payload)}}); err != nil && ctx.Err() == nil {
			f.t.Errorf("enqueue: %v", err)
		}
	}
}
