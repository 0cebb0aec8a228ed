package command

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
	"github.com/inbox-wasm/inbox-wasm/internal/testwasm"
)

const refuseWAT = `(module
  (import "inbox_v1" "reason" (func $reason (param i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 16) "no api key")
  (func (export "inbox_init") (result i32)
    (drop (call $reason (i32.const 16) (i32.const 10)))
    (i32.const 5))
  (func (export "inbox_handle") (result i32) (i32.const 0)))`

func wat(t *testing.T, source string) []byte { return testwasm.WAT(t, source) }

func TestHelp(t *testing.T) {
	root := (&program{}).root()
	for _, c := range root.Commands() {
		r := invoke("", c.Name(), "--help")
		if r.code != exitDone || r.stderr != "" || !strings.Contains(r.stdout, "Examples:\n  ") || !strings.Contains(r.stdout, "  inbox-wasm "+c.Name()) {
			t.Errorf("%s --help: exit code %d\n%s%s", c.Name(), r.code, r.stdout, r.stderr)
		}
		if c.Short == "" || strings.HasSuffix(c.Short, ".") {
			t.Errorf("%s: %q", c.Name(), c.Short)
		}
	}
	for _, args := range [][]string{{}, {"--help"}, {"help"}} {
		if r := invoke("", args...); r.code != exitDone || !strings.Contains(r.stdout, "Available Commands:") {
			t.Errorf("%q: exit code %d\n%s%s", args, r.code, r.stdout, r.stderr)
		}
	}
}

func TestUsage(t *testing.T) {
	for _, test := range []struct{ args, want string }{
		{"run", `unknown command "run"`},
		{"serv", `unknown command "serv"; did you mean serve?`},
		{"--jsn", "unknown flag: --jsn"},
		{"serve now", `serve takes no arguments, and was given ["now"]`},
		{"check --sqk", "unknown flag: --sqk"},
		{"version 2", `version takes no arguments, and was given ["2"]`},
		{"schema -c", "flag needs an argument: 'c' in -c"},
	} {
		r := invoke("", strings.Fields(test.args)...)
		if r.code != exitUsage || !strings.HasPrefix(r.stderr, "inbox-wasm: "+test.want) {
			t.Errorf("%s: exit code %d, %s", test.args, r.code, r.stderr)
		}
	}
}

func TestNoConfiguration(t *testing.T) {
	for _, command := range []string{"serve", "check", "schema", "enqueue jobs"} {
		r := invoke("", append(strings.Fields(command), "-c", "nowhere.toml")...)
		equal(t, command, r, result{exitFailed, "", "inbox-wasm: read the configuration: open nowhere.toml: no such file or directory; name the file with -c, or start one as the README shows\n"})
	}
}

func TestVersion(t *testing.T) {
	r := invoke("", "version", "--json")
	var v map[string]string
	if err := json.Unmarshal([]byte(r.stdout), &v); err != nil || r.code != exitDone {
		t.Fatalf("%v: %+v", err, r)
	}
	for _, key := range []string{"version", "commit", "go", "engine", "abi"} {
		if v[key] == "" {
			t.Errorf("%s is empty", key)
		}
		if text := invoke("", "version").stdout; !strings.Contains(text, v[key]) {
			t.Errorf("the text has no %s:\n%s", key, text)
		}
	}
	if v["abi"] != "inbox_v1" || !strings.HasPrefix(v["engine"], "wazero") {
		t.Errorf("%v", v)
	}
}

func TestCheck(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		t.Parallel()
		f := queue(t, db)
		text := f.must("", "check")
		for _, want := range []string{"database ", "at most 16", "work", "jobs", "lease", "ack.wasm", "everything that serve needs is there"} {
			if !strings.Contains(text, want) {
				t.Errorf("no %q in\n%s", want, text)
			}
		}
		if strings.Contains(text, "SELECT") {
			t.Error("statements are printed without --sql")
		}
		if sql := f.must("", "check", "--sql"); !strings.Contains(sql, "-- work: claim\n") || !strings.Contains(sql, "-- work: finish\n") {
			t.Errorf("no statements in\n%s", sql)
		}
		var plain, withSQL checked
		for args, into := range map[string]*checked{"": &plain, "--sql": &withSQL} {
			if err := json.Unmarshal([]byte(f.must("", append([]string{"check", "--json"}, strings.Fields(args)...)...)), into); err != nil {
				t.Fatal(err)
			}
		}
		h := plain.Handlers[0]
		if h.Handler != "work" || h.Table != "jobs" || h.Group != "work" || h.Form != "lease" || h.Threads != 1 || len(h.Hash) != 64 || h.Statements != nil {
			t.Errorf("%+v", h)
		}
		if len(withSQL.Handlers[0].Statements) < 5 {
			t.Errorf("%+v", withSQL.Handlers[0].Statements)
		}
		if f.rows("id") != "" {
			t.Error("check wrote rows")
		}
	})
}

// Nothing that an expansion or a password touched is printed, whatever the command and its outcome.
func TestSecretsAreNotPrinted(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		t.Setenv("API_KEY", "s3cr3t-key")
		t.Setenv("INBOX_URL", db.URL)
		f := newFolder(t, db, "")
		good := "[database]\nurl = \"${INBOX_URL}\"\n[runtime]\nlog_level = \"trace\"\n" + jobs + work + "[handlers.work.config]\napi_key = \"${API_KEY}\"\nplain = \"s3cr3t-plain\"\n"
		f.file("inbox.toml", good)
		var all strings.Builder
		run := func(args ...string) {
			r := f.run("{}", args...)
			all.WriteString(r.stdout + r.stderr)
		}
		everything := func() {
			for _, args := range []string{"check", "check --json", "check --sql", "check --sql --json", "schema", "schema --apply", "enqueue jobs", "serve --until-empty", "serve --until-empty --json"} {
				run(strings.Fields(args)...)
			}
		}
		everything()
		f.file("ack.wasm", string(wat(t, refuseWAT)))
		everything()
		if db.Name != "sqlite" {
			before, after, _ := strings.Cut(db.URL, "@")
			user := before[strings.LastIndex(before, "/")+1:]
			t.Setenv("INBOX_URL", strings.TrimSuffix(before, user)+"app:s3cr3t-word@"+after)
			everything()
		}
		f.file("inbox.toml", strings.Replace(good, "timeout", "timeot", 1)+"retires = \"${API_KEY}\"\n[handlers.more]\nmodule = \"${API_KEY}\"\ntable = \"${API_KEY}\"\ntimeout = \"${API_KEY}\"\n")
		everything()
		if strings.Contains(all.String(), "s3cr3t") {
			t.Errorf("a secret is printed:\n%s", all.String())
		}
	})
}

func TestSchema(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		t.Parallel()
		f := newFolder(t, db, jobs+"processed_at = \"processed_at\"\norigin = \"origin\"\ncreated_at = \"created_at\"\n"+deadJobs+
			"[tables.pairs]\nid = [\"tenant\", \"no\"]\nlocked_until = \"locked until\"\npayload = \"payload\"\n"+work)
		printed := f.must("", "schema")
		golden(t, "schema-"+db.Name+".golden", printed)
		const created = "table jobs is created\ntable dead_jobs is created\ntable pairs is created\n"
		equal(t, "first", f.must("", "schema", "--apply"), created)
		f.must("x", "enqueue", "jobs")
		f.sql("DROP TABLE dead_jobs")
		equal(t, "second", f.must("", "schema", "--apply"),
			"table jobs exists and is left as it is\ntable dead_jobs is created\ntable pairs exists and is left as it is\n")
		equal(t, "rows", f.rows("payload"), "x")
		f.must("", "check")
	})
}

// A table whose name is taken by something else says so.
func TestSchemaThatCannotBeApplied(t *testing.T) {
	f := newFolder(t, testdb.Database{Name: "sqlite", URL: testdb.SQLite(t)}, jobs+work)
	f.sql("CREATE TABLE taken (id INTEGER)", "CREATE INDEX jobs ON taken (id)")
	r := f.run("", "schema", "--apply")
	if r.code != exitFailed || !strings.Contains(r.stderr, "inbox-wasm: create table jobs: ") {
		t.Errorf("exit code %d, %s", r.code, r.stderr)
	}
}
