package command

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

func queue(t *testing.T, db testdb.Database) *folder {
	t.Helper()
	f := newFolder(t, db, jobs+work)
	f.must("", "schema", "--apply")
	return f
}

// Every source and every flag, read back from the database.
func TestEnqueue(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		t.Parallel()
		f := queue(t, db)
		file := f.file("order.json", `{"order":1}`)
		lines := f.file("orders.jsonl", "{\"n\":1}\n\n  \n\"two\"\n3")
		envelopes := f.file("events.jsonl", strings.Join([]string{
			`{"payload":"plain é"}`,
			`{"payload_base64":"AGI=","group":"other","headers":{"a":"b"},"priority":-1,"partition_key":"k"}`,
			`{"payload":"","headers":null}`,
		}, "\n"))

		equal(t, "stdin", f.must("from stdin", "enqueue", "jobs"), "1 row was written into jobs\n")
		equal(t, "dash", f.must("from dash", "enqueue", "jobs", "--file", "-"), "1 row was written into jobs\n")
		equal(t, "file", f.must("", "enqueue", "jobs", "--file", file, "--group", "g", "--header", "a=1", "--header", "b=x=y",
			"--priority", "7", "--key", "customer 1"), "1 row was written into jobs\n")
		equal(t, "jsonl", f.must("", "enqueue", "jobs", "--jsonl", lines), "3 rows were written into jobs\n")
		f.sql("UPDATE jobs SET locked_until = NULL")
		equal(t, "rows", strings.ReplaceAll(f.rows("payload", "name", "headers", "priority", "customer", "attempt"), ", ", ","), strings.Join([]string{
			`from stdin|work|-|0|-|1`,
			`from dash|work|-|0|-|1`,
			`{"order":1}|g|{"a":"1","b":"x=y"}|7|customer 1|1`,
			`{"n":1}|work|-|0|-|1`,
			`"two"|work|-|0|-|1`,
			`3|work|-|0|-|1`,
		}, "\n"))

		f.sql("DELETE FROM jobs")
		equal(t, "envelopes", f.must("", "enqueue", "jobs", "--jsonl", envelopes, "--envelope", "--header", "d=e", "--json"),
			"{\n  \"rows\": 3,\n  \"table\": \"jobs\"\n}\n")
		equal(t, "rows", strings.ReplaceAll(f.rows("name", "headers", "priority", "customer"), ", ", ","), strings.Join([]string{
			`work|{"d":"e"}|0|-`, `other|{"a":"b"}|-1|k`, `work|{"d":"e"}|0|-`}, "\n"))

		f.sql("DELETE FROM jobs")
		f.must("x", "enqueue", "jobs", "--delay", "1h")
		f.must(`{"payload":"y","delay_ms":7200000}`+"\n", "enqueue", "jobs", "--jsonl", "-", "--envelope")
		for _, hours := range []string{"1", "2"} {
			limit := map[string]time.Duration{"1": time.Hour, "2": 2 * time.Hour}[hours]
			hidden := f.query("SELECT CAST(COUNT(*) AS CHAR(2)) FROM jobs WHERE retry_after > '" + utc(limit-time.Minute) + "' AND retry_after < '" + utc(limit+time.Minute) + "'")
			equal(t, "hidden for "+hours+" h", strings.TrimSpace(hidden), "1")
		}
	})
}

func utc(in time.Duration) string {
	return time.Now().Add(in).UTC().Format("2006-01-02 15:04:05.000000")
}

// A bad line says which it is, and what was written before it stays.
func TestEnqueueWithABadLine(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		t.Parallel()
		f := queue(t, db)
		many := strings.Repeat("{}\n", 700)
		r := f.run(many+"{oops\n{}\n", "enqueue", "jobs", "--jsonl", "-")
		equal(t, "bad line", r, result{exitFailed, "", "inbox-wasm: line 701 of standard input: it is not valid JSON; use --file for other payloads; before that, 700 rows were written into jobs\n"})
		equal(t, "rows", strings.Count(f.rows("id"), "\n")+1, 700)
	})
	f := queue(t, testdb.Database{Name: "sqlite", URL: testdb.SQLite(t)})
	for _, test := range []struct{ line, want string }{
		{`nonsense`, "it is no message: invalid character 'o' in literal null (expecting 'u')"},
		{`[]`, "it is no message: "},
		{`{"payload":"a","delay":1}`, `it is no message: json: unknown field "delay"`},
		{`{"group":"work"}`, `a message has either "payload" or "payload_base64"`},
		{`{"payload":"a","payload_base64":"YQ=="}`, `a message has either "payload" or "payload_base64"`},
		{`{"payload_base64":"%"}`, "it is no message: "},
		{`{"payload":"a","headers":[1]}`, `"headers" is not a JSON object`},
		{`{"payload":"a","headers":"x"}`, `"headers" is not a JSON object`},
		{`{"payload":"a","delay_ms":-1}`, `"delay_ms" is not between 0 and 9223372036854`},
		{`{"payload":"a","delay_ms":9223372036855}`, `"delay_ms" is not between 0 and 9223372036854`},
		{`{"payload":"a"} {"payload":"b"}`, "it holds more than one message; write each on a line of its own"},
		{`{"payload":"a","partition_key":1}`, "it is no message: "},
	} {
		r := f.run(`{"payload":"good"}`+"\n"+test.line+"\n", "enqueue", "jobs", "--jsonl", "-", "--envelope")
		if r.code != exitFailed || !strings.HasPrefix(r.stderr, "inbox-wasm: line 2 of standard input: "+test.want) ||
			!strings.HasSuffix(r.stderr, "; before that, 1 row was written into jobs\n") {
			t.Errorf("%s: exit code %d, %s", test.line, r.code, r.stderr)
		}
	}
}

// An envelope must not end where nobody reads it.
func TestEnvelopeWithoutAGroup(t *testing.T) {
	f := newFolder(t, testdb.Database{Name: "sqlite", URL: testdb.SQLite(t)}, jobs+work+strings.Replace(work, "work", "more", 1)+
		"[tables.plain]\nid = \"id\"\nlocked_until = \"locked_until\"\npayload = \"payload\"\n")
	f.must("", "schema", "--apply")
	r := f.run(`{"payload":"a"}`, "enqueue", "jobs", "--jsonl", "-", "--envelope")
	equal(t, "without", r, result{exitFailed, "", "inbox-wasm: line 1 of standard input: it names no \"group\", and the table is not read by one handler alone; add it, or give --group; before that, 0 rows were written into jobs\n"})
	f.must(`{"payload":"a"}`, "enqueue", "jobs", "--jsonl", "-", "--envelope", "--group", "more")
	for key, value := range map[string]string{"group": `"g"`, "headers": "{}", "delay_ms": "1", "priority": "1", "partition_key": `"k"`} {
		r := f.run(`{"payload":"a","`+key+`":`+value+`}`, "enqueue", "plain", "--jsonl", "-", "--envelope")
		if r.code != exitFailed || !strings.Contains(r.stderr, `line 1 of standard input: "`+key+`" needs a column that plays `) {
			t.Errorf("%s: exit code %d, %s", key, r.code, r.stderr)
		}
	}
}

// How enqueue is not to be called.
func TestEnqueueUsage(t *testing.T) {
	f := newFolder(t, testdb.Database{Name: "sqlite", URL: testdb.SQLite(t)}, jobs+work+strings.Replace(work, "work", "more", 1)+
		"[tables.plain]\nid = \"id\"\nlocked_until = \"locked_until\"\npayload = \"payload\"\n")
	for _, test := range []struct {
		args, want string
	}{
		{"", "enqueue takes TABLE, and was given []"},
		{"jobs more", `enqueue takes TABLE, and was given ["jobs" "more"]`},
		{"nowhere", `no table "nowhere" is declared in DIR/inbox.toml`},
		{"jobs", "2 handlers read a group of table jobs; name the group with --group"},
		{"jobs --group g --file a --jsonl b", "--file and --jsonl exclude each other: one file is one payload, or one payload a line"},
		{"jobs --group g --envelope", "--envelope says what the lines of --jsonl are; name the file with --jsonl"},
		{"jobs --group g --header novalue", `--header "novalue" is not KEY=VALUE`},
		{"jobs --group g --header =x", `--header "=x" is not KEY=VALUE`},
		{"jobs --group g --delay -1s", "--delay -1s is negative"},
		{"jobs --group g --delay soon", `invalid argument "soon" for "--delay" flag: time: invalid duration "soon"`},
		{"jobs --group g --priority high", `invalid argument "high" for "--priority" flag: strconv.ParseInt: parsing "high": invalid syntax`},
		{"jobs --wait", "unknown flag: --wait"},
		{"plain --group g", "--group needs a column that plays group, and [tables.plain] names none"},
		{"plain --header a=b", "--header needs a column that plays headers, and [tables.plain] names none"},
		{"plain --delay 1s", "--delay needs a column that plays retry_after, and [tables.plain] names none"},
		{"plain --priority 1", "--priority needs a column that plays priority, and [tables.plain] names none"},
		{"plain --key k", "--key needs a column that plays partition_key, and [tables.plain] names none"},
	} {
		r := f.run("x", append([]string{"enqueue"}, strings.Fields(test.args)...)...)
		equal(t, test.args, f.masked(r.stderr), "inbox-wasm: "+test.want+"\n`inbox-wasm --help` and `inbox-wasm COMMAND --help` say how.\n")
		equal(t, test.args+": exit code", r.code, exitUsage)
	}
	// What is no mistake in the call.
	r := f.run("x", "enqueue", "plain", "--file", f.dir+"/nothing.json")
	equal(t, "no file", f.masked(r.stderr), "inbox-wasm: open DIR/nothing.json: no such file or directory\n")
	equal(t, "no file: exit code", r.code, exitFailed)
	r = f.run("x", "enqueue", "plain")
	equal(t, "no table", r, result{exitFailed, "", "inbox-wasm: the database has no table plain: `inbox-wasm schema --apply` creates it\n"})
}

// Enqueue and serve, as a script would call them.
func TestServeUntilEmpty(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		t.Parallel()
		f := queue(t, db)
		f.must(strings.Repeat("{}\n", 20), "enqueue", "jobs", "--jsonl", "-")
		f.must("x", "enqueue", "jobs", "--delay", "1h")
		var reports []map[string]any
		if err := json.Unmarshal([]byte(f.must("", "serve", "--until-empty", "--json")), &reports); err != nil {
			t.Fatal(err)
		}
		want := map[string]any{"handler": "work", "table": "jobs", "group": "work", "acked": 20.0, "dropped": 0.0, "dead_lettered": 0.0,
			"retried": 0.0, "delayed": 0.0, "snoozed": 0.0, "released": 0.0, "interrupted": 0.0, "lost": 0.0, "unsettled": 0.0,
			"waiting": map[string]any{"held": 0.0, "due": 0.0, "delayed": 1.0}}
		equal(t, "reports", reports, []map[string]any{want})
		text := f.must("", "serve", "--until-empty")
		for _, column := range []string{"handler", "acked", "dropped", "dead letters", "delayed", "retried", "not settled", "due", "waiting", "in work"} {
			if !strings.Contains(text, column) {
				t.Errorf("the report has no column %q:\n%s", column, text)
			}
		}
	})
}

// A module that refuses to start fails a run until the queues are empty, with its reason.
func TestServeUntilEmptyOfAModuleThatRefuses(t *testing.T) {
	f := queue(t, testdb.Database{Name: "sqlite", URL: testdb.SQLite(t)})
	f.must("x", "enqueue", "jobs")
	f.file("ack.wasm", string(wat(t, refuseWAT)))
	r := f.run("", "serve", "--until-empty")
	if r.code != exitFailed || !strings.Contains(r.stderr, "inbox-wasm: handler work: start module ") ||
		!strings.Contains(r.stderr, "inbox_init: refused with code 5; reason: no api key\n") {
		t.Errorf("exit code %d, %s", r.code, r.stderr)
	}
	equal(t, "rows", f.rows("attempt", "locked_until"), "1|-")
	r = f.run("", "check")
	if r.code != exitFailed || !strings.Contains(r.stderr, "handlers.work.module: ") || !strings.Contains(r.stderr, "reason: no api key; ") {
		t.Errorf("check: exit code %d, %s", r.code, r.stderr)
	}
}
