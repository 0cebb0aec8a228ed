package command

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
	"github.com/inbox-wasm/inbox-wasm/internal/testwasm"
)

// start is a start that must fail.
type start struct {
	name string
	// toml replaces that of the table jobs and the handler work.
	toml string
	url  string
	// sql prepares the database after its tables are made.
	sql []string
	// wasm replaces the module.
	wasm []byte
	bare bool // the tables are not made
}

const deadJobs = "[tables.dead_jobs]\nid = \"id\"\nlocked_until = \"locked_until\"\npayload = \"payload\"\n"

func starts(t *testing.T, db testdb.Database) []start {
	wat := func(source string) []byte { return testwasm.WAT(t, source) }
	const memory = `(memory (export "memory") 1)`
	const handle = `(func (export "inbox_handle") (result i32) (i32.const 0))`
	list := []start{
		{name: "unknown key", toml: jobs + strings.Replace(work, "poll_interval", "pol_interval", 1)},
		{name: "not TOML", toml: jobs + "[handlers.work\n"},
		{name: "unknown scheme", url: "sqlserver://sa:s3cr3t@localhost/inbox"},
		{name: "no handler", toml: jobs},
		{name: "no table", bare: true},
		{name: "no column", sql: []string{"ALTER TABLE jobs RENAME COLUMN error TO problem"}},
		{name: "no module", toml: jobs + strings.Replace(work, "ack.wasm", "missing.wasm", 1)},
		{name: "text instead of a module", wasm: []byte("#!/bin/sh\necho hello\n")},
		{name: "empty module", wasm: []byte{}},
		{name: "component", wasm: []byte("\x00asm\x0d\x00\x01\x00")},
		{name: "no inbox_handle", wasm: wat(`(module ` + memory + `(func (export "handle")))`)},
		{name: "unknown import", wasm: wat(`(module (import "inbox_v1" "paylod" (func (param i32 i32) (result i32)))` + memory + handle + `)`)},
		{name: "foreign import", wasm: wat(`(module (import "env" "puts" (func (param i32) (result i32)))` + memory + handle + `)`)},
		{name: "function that is not allowed yet", wasm: wat(`(module (import "inbox_v1" "http" (func (param i32 i32) (result i32)))` + memory + handle + `)`)},
		{name: "dead letter table with other columns", toml: jobs + deadJobs + work + "dead_letter = \"dead_jobs\"\n"},
		{name: "several at once", toml: jobs + strings.Replace(jobs, "jobs", "others", 1) + work + strings.NewReplacer("work", "more", "ack", "missing", "jobs", "others").Replace(work),
			sql: []string{"DROP TABLE others", "ALTER TABLE jobs RENAME COLUMN payload TO content"}, wasm: []byte("text")},
	}
	switch db.Name {
	case "sqlite":
		list = append(list,
			start{name: "folder is missing", url: "sqlite:nowhere/inbox.db"},
			start{name: "file is no database", url: "sqlite:ack.wasm"},
			start{name: "wrong type", bare: true, sql: []string{"CREATE TABLE jobs (id INTEGER PRIMARY KEY, name TEXT, priority INTEGER, customer TEXT, attempt TEXT, retry_after INTEGER, locked_until TEXT, headers BLOB, payload BLOB, error TEXT)"}},
			start{name: "lease that is not null", bare: true, sql: []string{"CREATE TABLE jobs (id INTEGER PRIMARY KEY, name TEXT, priority INTEGER, customer TEXT, attempt INTEGER, retry_after TEXT, locked_until TEXT NOT NULL, headers TEXT, payload BLOB, error TEXT)"}})
		return list
	case "postgres":
		list = append(list,
			start{name: "wrong type", sql: []string{"ALTER TABLE jobs ALTER COLUMN attempt TYPE text, ALTER COLUMN retry_after DROP DEFAULT, ALTER COLUMN retry_after TYPE bigint USING 0"}},
			start{name: "lease that is not null", sql: []string{"ALTER TABLE jobs ALTER COLUMN locked_until SET NOT NULL"}},
			start{name: "wrong password", sql: []string{
				"DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'nobody_much') THEN CREATE ROLE nobody_much; END IF; END $$"},
				url: with(t, db, func(u *url.URL) { u.User = url.UserPassword("nobody_much", "s3cr3t") })})
	case "mariadb":
		list = append(list,
			start{name: "wrong type", sql: []string{"ALTER TABLE jobs MODIFY attempt TEXT, MODIFY retry_after BIGINT"}},
			start{name: "lease that is not null", sql: []string{"ALTER TABLE jobs MODIFY locked_until DATETIME(6) NOT NULL"}},
			start{name: "wrong password", url: with(t, db, func(u *url.URL) { u.User = url.UserPassword("app", "s3cr3t") })})
	}
	return append(list,
		start{name: "unknown database", url: with(t, db, func(u *url.URL) { u.Path = "/nowhere" })},
		start{name: "nobody listens", url: with(t, db, func(u *url.URL) { u.Host = "127.0.0.1:1"; u.User = url.UserPassword("app", "s3cr3t") })})
}

// Whatever is wrong at the start stops serve and check alike, with a line for each problem that says where it
// is and what to do.
func TestStartsThatFail(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		t.Parallel()
		var all strings.Builder
		for i, s := range starts(t, db) {
			if s.toml == "" {
				s.toml = jobs + work
			}
			f := newFolder(t, db, jobs+strings.Replace(jobs, "jobs", "others", 1)+deadJobs)
			if i > 0 {
				f.sql("DROP TABLE IF EXISTS jobs", "DROP TABLE IF EXISTS others", "DROP TABLE IF EXISTS dead_jobs")
			}
			if !s.bare {
				f.must("", "schema", "--apply")
			}
			f.sql(s.sql...)
			if s.wasm != nil {
				f.file("ack.wasm", string(s.wasm))
			}
			if s.url == "" {
				s.url = db.URL
			}
			f.file("inbox.toml", "[database]\nurl = \""+s.url+"\"\n"+s.toml)
			served, checked := f.run("", "serve"), f.run("", "check")
			equal(t, s.name+": check beside serve", f.masked(checked.stderr), f.masked(served.stderr))
			if served.code != exitFailed || checked.code != exitFailed {
				t.Errorf("%s: exit codes %d and %d", s.name, served.code, checked.code)
			}
			if strings.Contains(served.stderr+checked.stderr, "s3cr3t") {
				t.Errorf("%s: the password is printed", s.name)
			}
			fmt.Fprintf(&all, "== %s\n%s\n", s.name, f.masked(served.stderr))
		}
		golden(t, "start-"+db.Name+".golden", all.String())
	})
}
