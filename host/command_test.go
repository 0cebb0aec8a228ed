package host

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
	"github.com/inbox-wasm/inbox-wasm/internal/testwasm"
)

// A program of WASI settles its rows by its exit code, in every form.
func TestCommandSettlesByItsExitCode(t *testing.T) {
	module, cache := testwasm.GoCommand(t, "engine/testdata/gocommand"), t.TempDir()
	eachForm(t, func(t *testing.T, db testdb.Database, tables string) {
		b := open(t, db, fmt.Sprintf("[runtime]\ncache_dir = %q\n", cache)+tables+fmt.Sprintf("[handlers.work]\nmodule = %q\ntable = \"jobs\"\npoll_interval = \"20ms\"\nthreads = 2\n"+
			"dead_letter = \"dead\"\nbackoff = { initial = \"1h\", max = \"1h\" }\n", module), untilEmpty)
		b.enqueue("jobs", "work", "exit 0 fine", "exit 75 later", "exit 65 broken", "exit 9 odd", "exit 0 too")
		b.drain()
		equal(t, "counts", b.counts("work"), Counts{Acked: 2, Delayed: 2, DeadLettered: 1})
		equal(t, "rows", b.rows("jobs", "payload", "name", "error"),
			"exit 65 broken|dead|broken\nexit 75 later|work|later\nexit 9 odd|work|exit: exit code 9; reason: odd\n")
	})
}

// A guest sees of the environment and of files what its handler allows.
func TestAllowedEnvironmentAndFiles(t *testing.T) {
	t.Setenv("INBOX_TEST_ALLOWED", "seen")
	t.Setenv("INBOX_TEST_SECRET", "hidden")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("template"), 0o600); err != nil {
		t.Fatal(err)
	}
	db := testdb.Database{Name: "sqlite", URL: testdb.SQLite(t)}
	b := open(t, db, tables+fmt.Sprintf("[handlers.work]\nmodule = %q\ntable = \"jobs\"\nallow.env = [\"INBOX_TEST_ALLOWED\", \"INBOX_TEST_UNSET\"]\n"+
		"allow.files = [{ host = %q, guest = \"/data\" }]\n", testwasm.GoCommand(t, "engine/testdata/gocommand"), dir), untilEmpty)
	b.enqueue("jobs", "work", "env ", "paths /data/a.txt")
	b.drain()
	equal(t, "counts", b.counts("work"), Counts{Acked: 2})
	text := b.log.String()
	for want, there := range map[string]bool{"INBOX_TEST_ALLOWED=seen": true, "/data/a.txt template true": true, "hidden": false, "INBOX_TEST_UNSET": false} {
		if strings.Contains(text, want) != there {
			t.Errorf("%q is in the log: %v, want %v", want, !there, there)
		}
	}
}

func TestMountThatIsNotThere(t *testing.T) {
	db := testdb.Database{Name: "sqlite", URL: testdb.SQLite(t)}
	cfg := parse(t, db, tables+handler(t, "work", "jobs", `allow.files = [{ host = "nowhere", guest = "/data" }]`))
	create(t, connect(t, db), cfg)
	_, err := Open(t.Context(), Options{Config: cfg, Log: (&lines{}).logger()})
	if want := "handlers.work.allow.files: cannot open "; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
}
