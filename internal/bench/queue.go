package bench

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/host/config"
)

// handlerWasm is handler.c, built by scripts/bench-handler.sh.
//
//go:embed handler/handler.wasm
var handlerWasm []byte

// tableName is the bench's own; its schema is the user's default one.
const tableName = "inbox_wasm_bench"

// dropTimeout bounds the end of an interrupted run.
const dropTimeout = 30 * time.Second

// queue is the table of one form.
type queue struct {
	*bench
	form  Form
	table *dialect.Table
}

// newQueue makes the table. One that exists is somebody else's.
func (b *bench) newQueue(ctx context.Context, f Form) (*queue, error) {
	cfg, err := b.config(f, setup{workers: 1})
	if err != nil {
		return nil, err
	}
	t := &queue{bench: b, form: f, table: cfg.Tables[0].Declared()}
	switch err := forms.Describe(ctx, b.store, t.table); {
	case err == nil:
		return nil, fmt.Errorf("the database has a table %s already, and a bench touches nothing that it did not make: drop it if an earlier bench was killed", tableName)
	case !errors.Is(err, forms.ErrNoTable):
		return nil, err
	}
	return t, t.create(ctx)
}

func (t *queue) create(ctx context.Context) error {
	if err := t.store.Script(ctx, t.store.Dialect().Schema(t.table).Table); err != nil {
		return fmt.Errorf("create the table %s: %w", tableName, err)
	}
	return nil
}

// drop removes the table, even if the run was interrupted.
func (t *queue) drop() error {
	ctx, cancel := context.WithTimeout(context.Background(), dropTimeout)
	defer cancel()
	if err := t.store.Script(ctx, "DROP TABLE IF EXISTS "+tableName); err != nil {
		return fmt.Errorf("drop the table %s: %w", tableName, err)
	}
	return nil
}

// renew makes the table anew: every drain begins without what the last one left behind.
func (t *queue) renew(ctx context.Context) error {
	if err := t.drop(); err != nil {
		return err
	}
	return t.create(ctx)
}

func (t *queue) fill(ctx context.Context) error {
	if err := t.renew(ctx); err != nil {
		return err
	}
	if err := t.db.fill(ctx, t); err != nil {
		return fmt.Errorf("fill the table %s: %w", tableName, err)
	}
	return nil
}

// payload is that of row n: a JSON object of the size that was asked for, or the smallest that can be.
func (b *bench) payload(n int) []byte {
	p := make([]byte, 0, b.Payload+64)
	p = append(p, `{"number":`...)
	p = strconv.AppendInt(p, int64(n), 10)
	p = append(p, `,"text":"`...)
	to := fmt.Sprintf(`","to":"user-%d@example.com"}`, n%1000)
	p = append(p, bytes.Repeat([]byte{'x'}, max(0, b.Payload-len(p)-len(to)))...)
	return append(p, to...)
}

// key is the key of row n in the advisory form.
func (b *bench) key(n int) string {
	if b.Keys > 0 {
		n %= b.Keys
	}
	return strconv.Itoa(n)
}

// handler puts the module where the host finds it.
func (b *bench) handler() error {
	if b.Module != "" {
		if _, err := os.Stat(b.Module); err != nil {
			return fmt.Errorf("read the handler: %w", err)
		}
		return nil
	}
	b.Module = filepath.Join(b.dir, "handler.wasm")
	return os.WriteFile(b.Module, handlerWasm, 0o600)
}

const toml = `[database]
url = "${URL}"
max_connections = %d
connection_limit = %[1]d
[runtime]
cache_dir = "${CACHE}"
[tables.` + tableName + `]
id = "id"
attempt = "attempt"
payload = "payload"
%[2]s
[handlers.bench]
module = "${MODULE}"
table = "` + tableName + `"
threads = %[3]d
claim = %[4]s
recycle_after = 0
listen = %[5]t
`

var roles = map[Form]string{
	Lease:    `locked_until = "locked_until"`,
	RowLock:  "",
	Advisory: `advisory_lock = "` + tableName + `-{customer}"`,
}

// setup is how the host is run.
type setup struct {
	workers int
	claim   int  // rows; 0 is automatic
	listen  bool // for rows that other processes write
}

// config is the host's configuration.
func (b *bench) config(f Form, how setup) (*config.Config, error) {
	size := `"auto"`
	if how.claim > 0 {
		size = strconv.Itoa(how.claim)
	}
	values := map[string]string{"URL": b.URL, "CACHE": filepath.Join(b.dir, "cache"), "MODULE": b.Module}
	var schemes []string
	for _, d := range b.Databases {
		schemes = append(schemes, d.Schemes...)
	}
	return config.Parse("bench", fmt.Appendf(nil, toml, connections(how.workers), roles[f], how.workers, size, how.listen), func(name string) (string, bool) {
		v, ok := values[name]
		return v, ok
	}, schemes...)
}
