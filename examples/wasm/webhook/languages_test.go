// Package webhook compares the example in its languages.
package webhook

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/inbox-wasm/inbox-wasm/examples/wasm/webhook/events/generator"
	"github.com/inbox-wasm/inbox-wasm/host/engine"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
	"github.com/inbox-wasm/inbox-wasm/internal/testexample"
	"github.com/inbox-wasm/inbox-wasm/internal/testwasm"
)

const secret = "It's a Secret to Everybody"

// handlers are the example's, by language. Go is the one that the others are compared with.
var handlers = map[string]func(t testing.TB) string{
	"go":             func(t testing.TB) string { return testwasm.Go(t, "go") },
	"c":              func(t testing.TB) string { return testwasm.C(t, "c/webhook.c") },
	"rust":           func(t testing.TB) string { return testwasm.Rust(t, "rust") },
	"assemblyscript": func(t testing.TB) string { return testwasm.AssemblyScript(t, "assemblyscript/handler.ts") },
	"javascript":     func(t testing.TB) string { return testwasm.JavaScript(t, "javascript/handler.js") },

	"zig": func(t testing.TB) string { return testwasm.Zig(t, "zig") },
}

// samples are the events that the handlers are given: those of the generator, and some for each way to be refused.
func samples(n int) []generator.Event {
	list := slices.Collect(generator.Events(generator.Options{Count: n, Seed: 2, Secret: secret}))
	signed := func(name, body string) generator.Event {
		return generator.Event{Payload: []byte(body), Headers: map[string]string{"X-GitHub-Event": name, "X-Hub-Signature-256": generator.Sign(secret, []byte(body))}}
	}
	for _, name := range []string{"ping", "push", "issues", "pull_request", "deployment", "star", ""} {
		for _, body := range []string{"", "null", "[]", "{", "{}", "\"\"", "01", "[1,]", `{"a":1,}`, `{"a":"\x"}`, "{\"a\":\"\n\"}", `{"a":"é\ud83e\udd80"}`, ` {"ref":"r","after":"a","repository":{"full_name":"n"}} `,
			`{"ref":7,"after":"a","repository":{"full_name":"n"}}`, `{"hook_id":1}`, `{"hook_id":1.5}`, `{"hook_id":"1"}`, `{"hook_id":0}`, `{"hook_id":-1}`,
			`{"action":"a","number":3,"repository":{"full_name":"n"}}`, `{"action":"a","issue":{"number":3},"repository":{"full_name":""}}`, `{"action":"a","issue":3,"repository":{"full_name":"n"}}`,
			`{"action":"a","deployment":{"id":9007199254740993},"repository":{"full_name":"n"}}`, "{}{}", "nul", `{"a":[[[[[[]]]]]]}`} {
			list = append(list, signed(name, body))
		}
	}
	for _, signature := range []string{"", "sha1=00", "sha256=", "sha256=zz" + fmt.Sprintf("%062d", 0), "sha256=" + fmt.Sprintf("%064d", 0), "sha256=" + fmt.Sprintf("%065d", 0)} {
		list = append(list, generator.Event{Payload: []byte("{}"), Headers: map[string]string{"X-GitHub-Event": "push", "X-Hub-Signature-256": signature}})
	}
	return list
}

// result is what becomes of an event.
type result struct {
	Outcome string
	Reason  string
	Delay   time.Duration
}

// run has a handler handle every event, one after the other on one instance.
func run(t *testing.T, path string, list []generator.Event) []result {
	t.Helper()
	e, err := engine.New(t.Context(), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := e.Load(t.Context(), path, engine.Limits{Memory: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	i, err := m.NewInstance(t.Context(), engine.Settings{Config: map[string]string{"secret": secret, "not_ready": "star, " + generator.NotReady, "retry_delay": "90m"}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		for _, close := range []func(context.Context) error{i.Close, m.Close, e.Close} {
			if err := close(context.Background()); err != nil {
				t.Error(err)
			}
		}
	}()
	results := make([]result, len(list))
	for k, one := range list {
		headers, err := json.Marshal(one.Headers)
		if err != nil {
			t.Fatal(err)
		}
		r := i.Handle(t.Context(), &engine.Message{Subscription: "work", ID: []byte("1"), Headers: headers, Payload: one.Payload, Timeout: 10 * time.Second})
		if r.Failure != engine.None {
			t.Fatalf("event %d, %.200q: %+v", k, one.Payload, r)
		}
		results[k] = result{r.Code.String(), r.Reason, r.Delay}
	}
	return results
}

// Every language comes to the same for every event: the outcome, the reason and the delay.
func TestLanguagesAgree(t *testing.T) {
	count := 20_000
	if testing.Short() {
		count = 2000
	}
	list := samples(count)
	want := run(t, handlers["go"](t), list)
	kinds := map[string]int{}
	for _, r := range want[:count] {
		kinds[r.Outcome]++
	}
	if e := generator.Expect(count); kinds["ack"] != e.Acked || kinds["retry_after"] != e.Delayed || kinds["dead_letter"] != e.DeadLettered.Forged+e.DeadLettered.Malformed {
		t.Fatalf("the generated events come to %v, and should to %+v", kinds, e)
	}
	for language, handler := range handlers {
		if language == "go" {
			continue
		}
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			different := 0
			for i, got := range run(t, handler(t), list) {
				if got != want[i] && different < 10 {
					different++
					t.Errorf("event %d, %.120q: %+v, and in Go %+v", i, list[i].Payload, got, want[i])
				}
			}
		})
	}
}

var tableEvents = flag.Int("events", 2000, "how many events TestTablesAgree puts into each table")

// A table of events comes to the same in every language, row for row.
func TestTablesAgree(t *testing.T) {
	cache, events := t.TempDir(), filepath.Join(t.TempDir(), "events.jsonl")
	writeEvents(t, events, *tableEvents)
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		e := testexample.New(t, db, filepath.Join("..", "..", "..", "inbox.toml"), cache)
		rows := func(language string) []string {
			e.Copy("bin/webhook.wasm", handlers[language](t))
			e.Run("", "schema", "--apply")
			e.Run("", "enqueue", "webhooks", "--jsonl", events, "--envelope")
			e.Run("", "serve", "--until-empty")
			left := e.Rows("SELECT " + e.Text("id") + ", name, " + e.Text("attempt") + ", CASE WHEN retry_after IS NULL THEN 'now' ELSE 'later' END, last_error FROM webhooks ORDER BY id")
			e.SQL("DROP TABLE webhooks")
			return strings.Split(left, "\n")
		}
		want := rows("go")
		for language := range handlers {
			if language == "go" {
				continue
			}
			if got := rows(language); !slices.Equal(got, want) {
				t.Errorf("%s leaves %d rows, and Go %d; the first are\n%s\n%s", language, len(got), len(want), strings.Join(got[:5], "\n"), strings.Join(want[:5], "\n"))
			}
		}
	})
}

func writeEvents(t *testing.T, path string, count int) {
	t.Helper()
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := generator.Write(file, generator.Options{Count: count, Seed: 2, Secret: secret, Group: "github"}); err != nil {
		t.Fatal(err)
	}
}

// The handler in Zig passes its own tests, without a host.
func TestZig(t *testing.T) { testwasm.ZigTests(t, "zig") }
