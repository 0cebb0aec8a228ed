package config

import (
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var update = flag.Bool("update", false, "write the goldens")

// env is a lookup in a fixed environment.
func env(pairs ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1], true
			}
		}
		return "", false
	}
}

// specified parses a file and gives what it says beside its problems.
func specified(t *testing.T, file, data string, lookup func(string) (string, bool)) (*Config, Problems) {
	t.Helper()
	p := newParser(file, lookup)
	c := p.parse([]byte(data))
	return c, p.result()
}

func TestExampleHasEveryKey(t *testing.T) {
	file := filepath.Join("testdata", "example.toml")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	c, problems := specified(t, file, string(data), env("DATABASE_URL", "postgres://app:pw@db/inbox", "MAIL_API_KEY", "k3y"))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	jobs := &Table{
		Key: "email_jobs", Line: 23, Name: "email_jobs", Schema: "app",
		ID: []string{"job_id"}, Group: "name", Priority: "urgency", PartitionKey: "customer", RetryAfter: "retry_after",
		Attempt: "attempt", ProcessedAt: "processed_at", LockedUntil: "locked_until", Headers: "headers", Payload: "payload",
		Error: "last_error", Origin: "came_from", CreatedAt: "created_at", Clock: "system", Isolation: "read_committed",
		OnConflict: []string{"tenant", "dedupe_key"}, Retain: 168 * time.Hour,
	}
	videos := &Table{
		Key: "video_jobs", Line: 44, Name: "Video Jobs", ID: []string{"tenant", "no"},
		AdvisoryLock: "video_jobs-{{{channel}}}",
		AdvisoryKey:  []KeyPart{{Literal: "video_jobs-{"}, {Column: "channel"}, {Literal: "}"}},
		Lock:         "SELECT pg_try_advisory_lock($1::bigint)", Unlock: "SELECT pg_advisory_unlock($1::bigint)",
		Clock: "system", Columns: []string{"note", "channel"},
	}
	welcome := &Table{Key: "welcome_jobs", Line: 52, Name: "welcome_jobs", ID: []string{"id"}, Payload: "payload", Clock: "system"}
	want := &Config{
		Path:     file,
		Database: Database{URL: "postgres://app:pw@db/inbox", MaxConnections: 16, ConnectionLimit: 64},
		Runtime: Runtime{
			CacheDir: "testdata/.inbox-cache", DrainTimeout: 30 * time.Second, ListenHTTP: "127.0.0.1:9464",
			HTTPToken: "token-from-a-file", HTTPHosts: []string{"queue.example.com"}, Log: "text",
		},
		Tables: []*Table{jobs, videos, welcome},
		Handlers: []*Handler{
			{
				Name: "send-email", Line: 56, Module: "testdata/handlers/send_email.wasm", Table: jobs, Group: "emails",
				Threads: 4, Connections: 1, Batch: 1, Lease: 30 * time.Second, PollInterval: time.Second, RateLimit: Rate{100, time.Second},
				MaxAttempts: 5, DeadLetter: &Target{Group: "failed"},
				Backoff: Backoff{Initial: time.Second, Max: 10 * time.Minute, Factor: 3, Jitter: 0.2},
				OnFailure: OnFailure{
					Trap: Policy{Action: RetryAfter}, Timeout: Policy{RetryAfter, 30 * time.Second, true},
					Outcome: Policy{Action: Drop}, Decode: Policy{Action: DeadLetter},
				},
				Timeout: 30 * time.Second, Memory: 64 * mib, MaxPayload: mib,
				Limits:   Limits{HTTPResponse: 2 * mib, DBResult: 4096, Log: kib, Publishes: 10},
				Instance: "reuse", RecycleAfter: 100_000, RecycleMemory: 48 * mib,
				Allow: Allow{
					DB: []string{"pool"}, Publish: []*Table{welcome}, Env: []string{"TZ"},
					HTTP:  []HTTPTarget{{URL: "https://api.example.com"}, {URL: "http://127.0.0.1:8080", Private: true}},
					Files: []Mount{{Host: "testdata/templates", Guest: "/templates"}},
				},
				Config: Settings{"sender": "noreply@example.com", "region": "eu", "api_key": "k3y", "retries": "3"},
			},
			{
				Name: "encode", Line: 95, Module: "/opt/encode.wasm", Table: videos,
				Threads: 1, Connections: 1, Batch: 1, Lease: 30 * time.Second, PollInterval: time.Second,
				Backoff: Backoff{Initial: time.Second, Max: 10 * time.Minute, Factor: 3, Jitter: 0.2},
				OnFailure: OnFailure{
					Trap: Policy{Action: RetryAfter}, Timeout: Policy{Action: RetryAfter},
					Outcome: Policy{Action: RetryAfter}, Decode: Policy{Action: RetryAfter},
				},
				Timeout: 30 * time.Second, Memory: 64 * mib, MaxPayload: mib,
				Limits:   Limits{HTTPResponse: mib, DBResult: mib, Log: 64 * kib, Publishes: 1000},
				Instance: "reuse", RecycleAfter: 100_000, RecycleMemory: 48 * mib,
				Config: Settings{"sender": "defaults@example.com", "region": "eu"},
			},
		},
	}
	if diff := cmp.Diff(reveal(want), reveal(c), cmpopts.IgnoreTypes(section{})); diff != "" {
		t.Error(diff)
	}
	if c.Table("video_jobs") != c.Handlers[1].Table || c.Table("Video Jobs") != nil {
		t.Error("Table finds a table by its key alone")
	}
}

// plain is a configuration as cmp can show it, since its own types mask themselves.
type plain struct {
	Database []any
	Runtime  []any
	Tables   []*Table
	Handlers []*Handler
}

func reveal(c *Config) plain {
	return plain{
		[]any{c.Database.URL.Reveal(), c.Database.HandlerURL.Reveal(), c.Database.MaxConnections, c.Database.ConnectionLimit},
		[]any{c.Runtime.CacheDir, c.Runtime.DrainTimeout, c.Runtime.ListenHTTP, c.Runtime.HTTPToken.Reveal(), c.Runtime.HTTPHosts, c.Runtime.Log, c.Runtime.LogLevel},
		c.Tables, c.Handlers,
	}
}

func TestMistakesAreReportedAtOnce(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "mistakes.toml"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = Parse("inbox.toml", data, env("DATABASE_URL", "postgress://app:s3cr3t@db/inbox"))
	if !errors.As(err, &Problems{}) {
		t.Fatalf("the error is %T, want Problems", err)
	}
	golden(t, filepath.Join("testdata", "mistakes.golden"), err.Error()+"\n")
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

func TestLoad(t *testing.T) {
	if _, err := Load(filepath.Join(t.TempDir(), "inbox.toml"), env()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file is reported as %v", err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "inbox.toml")
	data := `database.url = "sqlite:in%20box.db"
tables.jobs = { id = "id", payload = "body", locked_until = "until" }
handlers.work = { module = "work.wasm", table = "jobs" }
`
	if err := os.WriteFile(file, []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Load(file, env())
	if err != nil {
		t.Fatal(err)
	}
	if got, want := c.Database.URL.Reveal(), "sqlite:"+filepath.Join(dir, "in%20box.db"); got != want {
		t.Errorf("the database is %s, want %s", got, want)
	}
	if h := c.Handlers[0]; h.Module != filepath.Join(dir, "work.wasm") || h.Group != "" || h.DeadLetter != nil {
		t.Errorf("module %s, group %q, dead letter %v", h.Module, h.Group, h.DeadLetter)
	}
}

// Without a name there is no cache, and a relative one starts at the file's directory.
func TestCacheDir(t *testing.T) {
	for text, want := range map[string]string{`""`: "", `"cache"`: filepath.Join("etc", "cache")} {
		c, err := Parse(filepath.Join("etc", "inbox.toml"), []byte("runtime.cache_dir = "+text+"\ndatabase.url = \"sqlite:a.db\"\n"), env())
		if err != nil || c.Runtime.CacheDir != want {
			t.Errorf("%s: %v, %v", text, c, err)
		}
	}
}

func TestSyntaxErrorIsOneProblem(t *testing.T) {
	for _, test := range []struct {
		name, data string
		line       int
	}{
		{"no value", "[database]\nurl =\n", 2},
		{"key twice", "[database]\nurl = \"a\"\nurl = \"b\"\n", 3},
		{"table twice", "[database]\n[runtime]\n[database]\n", 3},
		{"open string", "\n\n[database]\nurl = \"abc\n", 4},
		{"no UTF-8", "[database]\nurl = \"\xff\"\n", 2},
		{"UTF-16", "\xff\xfe[\x00", 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, problems := specified(t, "inbox.toml", test.data, env())
			if len(problems) != 1 || problems[0].Line != test.line || !strings.HasPrefix(problems[0].What, "not TOML: ") {
				t.Errorf("got %v, want one problem in line %d", problems, test.line)
			}
		})
	}
}
