package command

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// operated is a folder with a queue whose rows are in every state.
func operated(t *testing.T, db testdb.Database) *folder {
	f := newFolder(t, db, jobs+"created_at = \"created_at\"\nprocessed_at = \"processed_at\"\n"+work+"dead_letter = \"failed\"\nmax_attempts = 3\n")
	f.must("", "schema", "--apply")
	for range 6 {
		f.must(`{"n":1}`, "enqueue", "jobs")
	}
	f.sql("UPDATE jobs SET retry_after = '2101-01-01 00:00:00' WHERE id = 2",
		"UPDATE jobs SET locked_until = '2101-01-01 00:00:00' WHERE id = 3",
		"UPDATE jobs SET name = 'failed', attempt = 3, error = 'line one\nline \033[31mtwo' WHERE id IN (4, 5)",
		"UPDATE jobs SET processed_at = '2001-01-01 00:00:00' WHERE id = 6")
	return f
}

// What an operator does from the command line, end to end: see, find out why, move back, delete.
func TestOperate(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		f := operated(t, db)
		out := f.must("", "stats")
		for _, want := range []string{"│ jobs  │ work   │ work     │   1 │       1 │       1 │    0 │         1 │", "│ jobs  │ failed │          │   0 │       0 │       0 │    2 │         0 │"} {
			if !strings.Contains(out, want) {
				t.Errorf("stats lacks %q:\n%s", want, out)
			}
		}
		out = f.must("", "peek", "jobs", "--dead")
		if !strings.Contains(out, "line one line �[31mtwo") || strings.Contains(out, "\033") || strings.Count(out, "dead") != 2 {
			t.Errorf("peek --dead:\n%s", out)
		}
		out = f.must("", "peek", "jobs", "--id", "4")
		if !strings.Contains(out, `{"n":1}`) || !strings.Contains(out, "7 bytes") {
			t.Errorf("peek --id:\n%s", out)
		}
		var rows []map[string]any
		if err := json.Unmarshal([]byte(f.must("", "peek", "jobs", "--json")), &rows); err != nil || len(rows) != 6 {
			t.Errorf("%d rows, %v", len(rows), err)
		}
		f.refuses("peek", "there are: jobs", "peek", "jops")
		f.refuses("peek", "excludes", "peek", "jobs", "--dead", "--state", "due")
		if r := f.run("", "peek", "jobs", "--id", "77"); r.code != exitFailed {
			t.Errorf("a row that is not there: %+v", r)
		}

		f.refuses("redrive", "Move 2 rows from group failed of jobs to group work? Nobody can be asked here", "redrive", "jobs")
		out = f.must("", "redrive", "jobs", "--dry-run")
		if !strings.Contains(out, "would move") || f.query("SELECT CONCAT(COUNT(*), '') FROM jobs WHERE name = 'failed'") != "2" {
			t.Errorf("redrive --dry-run:\n%s", out)
		}
		f.must("", "redrive", "jobs", "--id", "4", "--yes")
		if got := f.query("SELECT name, CONCAT(attempt, '') FROM jobs WHERE id IN (4, 5) ORDER BY id"); got != "work|1\nfailed|3" {
			t.Errorf("after the redrive: %s", got)
		}

		f.refuses("purge", "--processed or --dead", "purge", "jobs")
		f.refuses("purge", "--older-than", "purge", "jobs", "--dead")
		f.refuses("purge", "Delete 1 row of jobs that are processed and older than 7d0h? They cannot be brought back. Nobody", "purge", "jobs", "--processed", "--older-than", "168h")
		f.must("", "purge", "jobs", "--processed", "--older-than", "168h", "--dry-run")
		out = f.must("", "purge", "jobs", "--processed", "--older-than", "168h", "--yes")
		if out != "deleted 1 row from jobs\n" {
			t.Errorf("purge: %s", out)
		}
		f.must("", "cancel", "jobs", "--id", "1", "--yes")
		if r := f.run("", "cancel", "jobs", "--id", "3", "--yes"); r.code != exitFailed || !strings.Contains(r.stderr, "do not wait") {
			t.Errorf("cancel of a row in work: %+v", r)
		}
		if got := f.query("SELECT CONCAT(id, '') FROM jobs WHERE processed_at IS NULL ORDER BY id"); got != "2\n3\n4\n5" {
			t.Errorf("what is left: %s", got)
		}
	})
}

// refuses is run for what is used wrongly.
func (f *folder) refuses(name, why string, args ...string) {
	f.t.Helper()
	if r := f.run("", args...); r.code != exitUsage || !strings.Contains(r.stderr, why) {
		f.t.Errorf("%s: exit code %d, want %q:\n%s%s", name, r.code, why, r.stdout, r.stderr)
	}
}

func TestSpan(t *testing.T) {
	for d, want := range map[time.Duration]string{
		12345 * time.Microsecond: "12ms", 7 * time.Second: "7s", 3*time.Minute + 5*time.Second: "3m5s", 10 * time.Minute: "10m",
		25*time.Hour + 30*time.Minute: "25h30m", 50 * time.Hour: "2d2h",
	} {
		if got := span(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}

func TestOneLine(t *testing.T) {
	for text, want := range map[string]string{
		"a\nb\tc": "a b c", "\033[31mred": "�[31mred", "\xff\x00": "0xff00", "äöü": "äö…",
	} {
		length := 60
		if text == "äöü" {
			length = 2
		}
		if got := oneLine(text, length); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := string(whole([]byte("aü")[:2])); got != "a" {
		t.Errorf("half a character stays: %q", got)
	}
	if got := fmt.Sprintf("%x", whole([]byte{0xff, 0xfe})); got != "fffe" && got != "" {
		t.Errorf("bytes: %s", got)
	}
}
