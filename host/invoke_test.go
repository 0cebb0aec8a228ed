package host

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/inbox-wasm/inbox-wasm/abi"
	"github.com/inbox-wasm/inbox-wasm/host/config"
	"github.com/inbox-wasm/inbox-wasm/host/engine"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
	"github.com/inbox-wasm/inbox-wasm/internal/testwasm"
)

// invoked runs the only handler of a configuration.
func invoked(t *testing.T, cfg *config.Config, v Invocation) *Invoked {
	t.Helper()
	v.Handler, v.Log = cfg.Handlers[0], (&lines{}).logger()
	r, err := Invoke(t.Context(), cfg, v)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A row is replayed in every form as it would be delivered, and nothing becomes of it, though somebody holds it; only
// what is allowed explicitly takes effect.
func TestInvokeReplaysARow(t *testing.T) {
	eachTransactional(t, func(t *testing.T, db testdb.Database, tables string) {
		keys := strings.Replace(writer(t, ""), `"tx"`, `["tx", "pool"]`, 1)
		b := openWriting(t, db, tables+keys)
		b.enqueue("jobs", "work", "RINSERT INTO notes VALUES ('tx')|^SELECT 7", "a^INSERT INTO notes VALUES ('pool')|INSERT INTO notes VALUES ('kept')",
			"aINSERT INTO notes VALUES ('lost')|SELECT nonsense")
		cfg := b.options.Config
		before := b.rows("jobs", "id", "name", "attempt", "payload")
		r := invoked(t, cfg, Invocation{Row: "1"})
		if r.Result.Code != abi.RetryAfter || r.Result.Reason != "-3 " {
			t.Errorf("without being allowed: %+v", r.Result)
		}
		r = invoked(t, cfg, Invocation{Row: "1", Allow: true})
		if r.Result.Code != abi.RetryAfter || !strings.Contains(r.Result.Reason, `"rows":[[7]]`) {
			t.Errorf("allowed: %+v", r.Result)
		}
		equal(t, "notes after a retry", b.notes(), "")
		if r := invoked(t, cfg, Invocation{Row: "2", Allow: true}); r.Result.Code != abi.Ack {
			t.Errorf("an ack: %+v", r.Result)
		}
		equal(t, "notes after an ack", b.notes(), "kept\npool\n")
		if r := invoked(t, cfg, Invocation{Row: "3", Allow: true}); r.Result.Failure != engine.BadOutcome || !strings.Contains(r.Result.Reason, "nonsense") {
			t.Errorf("an ack after a failure: %+v", r.Result)
		}
		equal(t, "notes after that", b.notes(), "kept\npool\n")
		equal(t, "the rows", b.rows("jobs", "id", "name", "attempt", "payload"), before)
		b.idle(db)
		_, err := Invoke(t.Context(), cfg, Invocation{Handler: cfg.Handlers[0], Row: "77", Log: (&lines{}).logger()})
		if err == nil || !strings.Contains(err.Error(), "read row 77 of jobs: there is no such row") {
			t.Errorf("a row that is not there: %v", err)
		}
	})
}

// What a guest publishes is written where it is allowed to be, with the ack alone in a transactional handler.
func TestInvokePublishes(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		for _, transactional := range []bool{false, true} {
			own := testdb.Database{Name: db.Name, URL: fresh(t, db)}
			toml := tables + fmt.Sprintf("[handlers.work]\nmodule = %q\ntable = \"jobs\"\nallow = { publish = [\"plain\"] }\ntransactional = %v\n",
				testwasm.WATFile(t, filepath.Join("testdata", "publisher.wat")), transactional)
			b := open(t, own, toml)
			m := func(payload string, allow bool) Invocation {
				message := &engine.Message{Subscription: "work", ID: []byte("1"), Payload: []byte(`{"payload":"` + payload + `"}`), Timeout: patience}
				return Invocation{Message: message, Allow: allow}
			}
			if r := invoked(t, b.options.Config, m("no", false)); r.Result.Code != abi.Drop {
				t.Errorf("without being allowed: %+v", r.Result)
			}
			want := map[bool]string{false: "trap\n", true: ""}[transactional]
			invoked(t, b.options.Config, m("trap", true))
			equal(t, "after a trap", b.rows("plain", "payload"), want)
			invoked(t, b.options.Config, m("yes", true))
			equal(t, "after an ack", b.rows("plain", "payload"), want+"yes\n")
		}
	})
}

// A handler of batches is given a batch of one.
func TestInvokeABatch(t *testing.T) {
	db := onSQLite(t)
	r := openReloading(t, db, tables+work("batch = 5"), testwasm.WAT(t, `(module (memory (export "memory") 1)
  (func (export "inbox_handle_batch") (param i32) (result i32) (i32.add (i32.const 2) (local.get 0))))`))
	got := invoked(t, r.options.Config, Invocation{Message: &engine.Message{Subscription: "work", ID: []byte("1"), Timeout: patience}})
	if got.Result.Code != abi.Drop {
		t.Errorf("%+v", got.Result)
	}
}
