package command

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// A payload runs through a handler whose database is not there.
func TestInvoke(t *testing.T) {
	f := newFolder(t, testdb.Database{Name: "postgres", URL: "postgres://nobody@127.0.0.1:1/nowhere"},
		jobs+strings.Replace(work, "ack.wasm", "faces.wasm", 1)+"timeout = \"200ms\"\n")
	source, err := os.ReadFile("../../../host/engine/testdata/faces.wat")
	if err != nil {
		t.Fatal(err)
	}
	f.file("faces.wasm", string(wat(t, string(source))))
	for payload, want := range map[string]string{"0": "ack", "1": "retry", "2": "retry_after", "3": "drop", "4": "dead_letter", "5": "snooze",
		"t": "trap", "r": "trap", "l": "timeout", "x": "exit", "7": "bad_outcome"} {
		r := f.run(payload, "invoke", "work", "--json", "--expect", want)
		var got invokedJSON
		if err := json.Unmarshal([]byte(r.stdout), &got); err != nil || r.code != exitDone {
			t.Fatalf("%s: %v: %+v", payload, err, r)
		}
		if got.Outcome != want || got.Failed != (len(payload) == 1 && strings.Contains("trlx7", payload)) || got.Ticks <= 0 || got.MemoryBytes <= 0 ||
			got.StartMS <= 0 || len(got.SHA256) != 64 {
			t.Errorf("%s: %+v, want %s", payload, got, want)
		}
	}
	if r := f.run("0", "invoke", "work", "--expect", "drop"); r.code != exitFailed || !strings.Contains(r.stderr, "the outcome is ack, and drop was expected") {
		t.Errorf("%+v", r)
	}
	if text := f.must("1", "invoke", "work"); !strings.Contains(text, "outcome") || !strings.Contains(text, "retry") || !strings.Contains(text, "ticks") {
		t.Error(text)
	}
	path := f.file("payload", "3")
	if text := f.must("", "invoke", "work", "--file", path); !strings.Contains(text, "drop") {
		t.Error(text)
	}
	for args, want := range map[string]string{
		"nobody":                    `no handler "nobody" is declared`,
		"work --expect joy":         `--expect "joy" is none of ack, retry`,
		"work --header novalue":     `--header "novalue" is not KEY=VALUE`,
		"work --file /nowhere/at/a": "read the payload",
	} {
		if r := f.run("", append([]string{"invoke"}, strings.Fields(args)...)...); r.code == exitDone || !strings.Contains(r.stderr, want) {
			t.Errorf("%s: %+v, want %q", args, r, want)
		}
	}
}

// What a handler knows of its message comes from the flags.
func TestInvokeTellsOfTheMessage(t *testing.T) {
	f := newFolder(t, testdb.Database{Name: "sqlite", URL: "sqlite:" + t.TempDir() + "/never.db"}, jobs+work)
	f.file("ack.wasm", string(wat(t, `(module
		(import "inbox_v1" "meta" (func $meta (param i32 i32) (result i32)))
		(import "inbox_v1" "reason" (func $reason (param i32 i32) (result i32)))
		(memory (export "memory") 1)
		(func (export "inbox_handle") (result i32)
			(drop (call $reason (i32.const 0) (call $meta (i32.const 0) (i32.const 4096)))) (i32.const 3)))`)))
	text := f.must("{}", "invoke", "work", "--json", "--id", "order-7", "--attempt", "4", "--key", "ada", "--header", "trace=42", "--group", "mails")
	var got invokedJSON
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	var meta map[string]any
	if err := json.Unmarshal([]byte(got.Reason), &meta); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]any{"subscription": "work", "table": "jobs", "group": "mails", "id": "order-7", "attempt": 4.0, "partition_key": "ada"} {
		if meta[key] != want {
			t.Errorf("%s is %v, want %v", key, meta[key], want)
		}
	}
	if headers, ok := meta["headers"].(map[string]any); !ok || headers["trace"] != "42" {
		t.Errorf("headers are %v", meta["headers"])
	}
	if _, err := os.Stat(strings.TrimPrefix(f.db.URL, "sqlite:")); err == nil {
		t.Error("it made a database")
	}
}

// A row of the table is replayed with what it has, and stays as it is.
func TestInvokeReplaysARow(t *testing.T) {
	f := newFolder(t, testdb.Database{Name: "sqlite", URL: "sqlite:" + t.TempDir() + "/jobs.db"}, jobs+work)
	f.file("ack.wasm", string(wat(t, `(module
		(import "inbox_v1" "meta" (func $meta (param i32 i32) (result i32)))
		(import "inbox_v1" "reason" (func $reason (param i32 i32) (result i32)))
		(memory (export "memory") 1)
		(func (export "inbox_handle") (result i32)
			(drop (call $reason (i32.const 0) (call $meta (i32.const 0) (i32.const 4096)))) (i32.const 3)))`)))
	f.must("", "schema", "--apply")
	f.must("{}", "enqueue", "jobs", "--group", "work", "--key", "ada", "--header", "trace=42")
	for range 2 {
		var got invokedJSON
		if err := json.Unmarshal([]byte(f.must("", "invoke", "work", "--json", "--row", "1")), &got); err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{`"id":1`, `"partition_key":"ada"`, `"trace":"42"`, `"attempt":1`, `"group":"work"`} {
			if !strings.Contains(strings.ReplaceAll(got.Reason, ": ", ":"), part) {
				t.Errorf("the handler was told %s, without %s", got.Reason, part)
			}
		}
	}
	for args, want := range map[string]string{
		"--row 7":            "read row 7 of jobs: there is no such row",
		"--row seven":        "column id takes an integer",
		"--row 1 --key bob":  "--key cannot go with --row",
		"--row 1 --file x":   "--file cannot go with --row",
		"--row 1 --expect x": `--expect "x" is none of`,
	} {
		if r := f.run("", append([]string{"invoke", "work"}, strings.Fields(args)...)...); r.code == exitDone || !strings.Contains(r.stderr, want) {
			t.Errorf("%s: %+v, want %q", args, r, want)
		}
	}
}
