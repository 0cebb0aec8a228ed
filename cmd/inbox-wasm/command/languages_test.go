package command

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/inbox-wasm/inbox-wasm/abi"
	"github.com/inbox-wasm/inbox-wasm/host/engine"
)

// measured is a row of the table in docs/languages.md.
type measured struct {
	language            *language
	size                int64
	cold, cached, start time.Duration
	small, large        time.Duration // of a call
	memory              int64         // of an instance that has handled them
}

// measure takes the figures of a handler that greets, as it was built. They are the medians of what fits into a
// moment: nothing is compared with them but by a reader.
func measure(t *testing.T, l *language, path string) measured {
	t.Helper()
	m := measured{language: l}
	load := func(e *engine.Engine) (*engine.Module, time.Duration) {
		began := time.Now()
		module, err := e.Load(t.Context(), path, engine.Limits{Memory: 64 << 20})
		if err != nil {
			t.Fatal(err)
		}
		return module, time.Since(began)
	}
	dir := t.TempDir()
	for _, took := range []*time.Duration{&m.cold, &m.cached} {
		e, err := engine.New(t.Context(), engine.Options{CacheDir: dir})
		if err != nil {
			t.Fatal(err)
		}
		var module *engine.Module
		module, *took = load(e)
		m.size = module.Info().Size
		if took == &m.cached {
			m.calls(t, module)
		}
		if err := module.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if err := e.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	return m
}

func (m *measured) calls(t *testing.T, module *engine.Module) {
	t.Helper()
	var starts []time.Duration
	for range 20 {
		began := time.Now()
		i, err := module.NewInstance(t.Context(), engine.Settings{})
		if err != nil {
			t.Fatal(err)
		}
		starts = append(starts, time.Since(began))
		if len(starts) == 20 {
			m.small, m.large = call(t, i, 100), call(t, i, 10<<10)
			m.memory = i.Memory()
		}
		if err := i.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	m.start = median(starts)
}

// call is how long a call takes with a payload of a size, JSON that the handler reads.
func call(t *testing.T, i *engine.Instance, size int) time.Duration {
	t.Helper()
	payload := `{"name":"Ada","text":""}`
	payload = strings.Replace(payload, `""`, `"`+strings.Repeat("x", size-len(payload))+`"`, 1)
	m := &engine.Message{Subscription: "work", ID: []byte("1"), Payload: []byte(payload), Timeout: time.Minute}
	var took []time.Duration
	for end := time.Now().Add(200 * time.Millisecond); time.Now().Before(end); {
		r := i.Handle(t.Context(), m)
		if r.Failure != engine.None || r.Code != abi.Ack {
			t.Fatalf("%+v", r)
		}
		took = append(took, r.Elapsed)
	}
	return median(took)
}

func median(list []time.Duration) time.Duration {
	slices.Sort(list)
	return list[len(list)/2]
}

// writeLanguages replaces the table in a page.
func writeLanguages(t *testing.T, page string, rows []measured) {
	t.Helper()
	const begin, end = "<!-- measured -->\n", "<!-- /measured -->\n"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has no place for the table", page)
	}
	var table strings.Builder
	table.WriteString("| language | build | module | compile, then from the cache | instance | call with 100 B, 10 KiB | memory |\n| --- | --- | --- | --- | --- | --- | --- |\n")
	for _, m := range rows {
		fmt.Fprintf(&table, "| %s | `%s` | %d KiB | %d ms, %.1f ms | %s | %s, %s | %d KiB |\n", m.language.full,
			strings.ReplaceAll(strings.Join(m.language.build, " && "), "{}", "NAME"), m.size>>10, m.cold.Milliseconds(), float64(m.cached.Microseconds())/1000,
			micros(m.start), micros(m.small), micros(m.large), m.memory>>10)
	}
	if err := os.WriteFile(page, []byte(before+begin+table.String()+end+after), 0o600); err != nil {
		t.Fatal(err)
	}
}

func micros(d time.Duration) string { return fmt.Sprintf("%.1f µs", float64(d.Nanoseconds())/1000) }
