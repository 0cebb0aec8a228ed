package conformance

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/inbox-wasm/inbox-wasm/abi"
	"github.com/inbox-wasm/inbox-wasm/host/engine"
	"github.com/inbox-wasm/inbox-wasm/internal/testwasm"
)

// The engine that the SDK of JavaScript brings is what its sources come to.
func TestEngineOfJavaScriptIsBuiltFromItsSources(t *testing.T) {
	out := filepath.Join(t.TempDir(), "engine.wasm")
	cmd := exec.Command("../javascript/engine/build.sh", out)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	built, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile("../javascript/engine.wasm")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(built, kept) {
		t.Errorf("guest-sdk/javascript/engine.wasm has %d bytes and its sources come to others, %d: run guest-sdk/javascript/engine/build.sh", len(kept), len(built))
	}
}

// dead is the reason of a dead letter, by which handlers tell.
func dead(reason string) want {
	code := abi.DeadLetter
	return want{Code: &code, Reason: reason}
}

func TestEdgesOfJavaScript(t *testing.T) {
	g := newGuest(t, testwasm.JavaScript(t, "javascript/edges.ts"))
	trap := func(contains string) want { return want{Failure: "trap", Contains: contains} }
	ack := abi.Ack
	for _, step := range []struct {
		do   string
		want want
	}{
		{"thrown", dead("thrown")},
		{"rejected", dead("rejected")},
		{"lost", trap("nobody sees it")},
		{"found", dead("late")},
		{"noDelay", trap("a delay is a number of milliseconds, and not soon")},
		{"waits", trap("waits for a promise that nothing keeps")},
		{"waitsInTurn", dead("499500")},
		{"recurses", trap("stack overflow")},
		{"survives", dead("stack overflow")},
		{"fills", trap("out of memory")},
		{"returnsNonsense", trap("a handler returns an Outcome or nothing, and not ack")},
		{"modern", dead("1031 3 --x 2026")},
		{"logs", want{Code: &ack, Log: []string{`three 3 {"n":["1"]} [object Object]`}}},
		{"global", dead("1")},
		{"global", dead("2")},
		{"time", want{Code: new(abi.DeadLetter), Between: []int64{time.Now().UnixMilli() - 1000, time.Now().UnixMilli() + 600_000}}},
	} {
		t.Run(step.do, func(t *testing.T) { g.run(t, &vector{Headers: map[string]any{"do": step.do}, Want: step.want}) })
	}
}

// A handler's module asks for what its script uses, and has left what only its build needs.
func TestJavaScriptImportsWhatItUses(t *testing.T) {
	g := newGuest(t, testwasm.JavaScript(t, "javascript/edges.ts"))
	info := g.module.Info()
	for _, name := range []string{"db", "publish", "http"} {
		if slices.Contains(info.Imports, "inbox_v1."+name) {
			t.Errorf("%s is imported", name)
		}
	}
}

// Numbers that nobody should guess are others in each instance, though all of them come from one memory.
func TestRandomNumbersOfJavaScriptInstances(t *testing.T) {
	module := newGuest(t, testwasm.JavaScript(t, "javascript/edges.ts")).module
	seen := map[string]bool{}
	for range 5 {
		i, err := module.NewInstance(t.Context(), engine.Settings{})
		if err != nil {
			t.Fatal(err)
		}
		r := i.Handle(t.Context(), &engine.Message{Headers: []byte(`{"do":"random"}`), Timeout: time.Minute})
		if n, err := strconv.ParseFloat(r.Reason, 64); err != nil || n < 0 || n >= 1 || seen[r.Reason] {
			t.Errorf("%+v, after %v", r, seen)
		}
		seen[r.Reason] = true
		if err := i.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}
}

// A delay that is too long for the host's numbers is a long one, and not none.
func TestEndlessDelayOfJavaScript(t *testing.T) {
	g := newGuest(t, testwasm.JavaScript(t, "javascript/edges.ts"))
	r := g.instance.Handle(t.Context(), &engine.Message{Headers: []byte(`{"do":"endless"}`), Timeout: time.Minute})
	if r.Code != abi.Snooze || r.Delay < 24*time.Hour {
		t.Errorf("%+v", r)
	}
}

func TestLoopOfJavaScriptEnds(t *testing.T) {
	g := newGuest(t, testwasm.JavaScript(t, "javascript/edges.ts"))
	r := g.instance.Handle(t.Context(), &engine.Message{Headers: []byte(`{"do":"loops"}`), Timeout: 100 * time.Millisecond})
	if r.Failure != engine.Timeout {
		t.Errorf("%+v", r)
	}
}

// What cannot be built is said where it is.
func TestJavaScriptThatCannotBeBuilt(t *testing.T) {
	builder, err := filepath.Abs("javascript/node_modules/.bin/inbox-wasm-build")
	if err != nil {
		t.Fatal(err)
	}
	for source, want := range map[string]string{
		"export function handle( {": "broken.js:1:",
		"export const x = 1;":       "exports neither handle nor handleBatch",
		"export function handle() {}\nthrow new Error('at the top');":                              "at the top",
		"import { readFile } from 'node:fs'; export { readFile as handle }":                        "node:fs",
		"export function handle() {}\n(async () => { throw new Error('later') })();":               "later",
		"import { config } from 'inbox-wasm'; export const handle = () => {}; config('greeting');": "config is asked at the script's top level",
	} {
		file := filepath.Join(t.TempDir(), "broken.js")
		if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(builder, file, "-o", filepath.Join(t.TempDir(), "out.wasm")).CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v, %s: want %s", source, err, out, want)
		}
	}
}
