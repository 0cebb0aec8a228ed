package command

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/databases"
	"github.com/inbox-wasm/inbox-wasm/dialect/sqlite"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// Every command works on a database that the program's main brings, and one of a known scheme takes the
// place of the program's own.
func TestDatabaseOfTheProgramsOwn(t *testing.T) {
	for _, scheme := range []string{"own", "postgres"} {
		opened := 0
		own := databases.Database{Schemes: []string{scheme}, Dialect: sqlite.New(),
			Open: func(ctx context.Context, d dialect.Dialect, url string, o store.Options) (store.Store, error) {
				opened++
				return sqlite.Open(ctx, d, "sqlite:"+strings.TrimPrefix(url, scheme+"://"), o)
			}}
		path := filepath.Join(t.TempDir(), "inbox.db")
		f := newFolder(t, testdb.Database{Name: "sqlite", URL: scheme + "://" + path}, jobs+work)
		for i, args := range []string{"schema", "schema --apply", "enqueue jobs", "check", "serve --until-empty --json"} {
			var stdout, stderr bytes.Buffer
			list := append(strings.Fields(args), "-c", filepath.Join(f.dir, "inbox.toml"))
			if args == "enqueue jobs" {
				list = append(list, "--group", "work")
			}
			if code := Main(list, strings.NewReader("{}"), &stdout, &stderr, own); code != exitDone || opened != i {
				t.Fatalf("%s: %s: exit code %d, opened %d times\n%s%s", scheme, args, code, opened, stdout.String(), stderr.String())
			}
			if args == "serve --until-empty --json" && !strings.Contains(stdout.String(), `"acked": 1`) {
				t.Errorf("%s: %s", scheme, stdout.String())
			}
		}
	}
}
