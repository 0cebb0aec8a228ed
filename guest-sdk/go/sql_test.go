package inbox_test

import (
	"context"
	"testing"

	"github.com/inbox-wasm/inbox-wasm/abi"
	inbox "github.com/inbox-wasm/inbox-wasm/guest-sdk/go"
	"github.com/inbox-wasm/inbox-wasm/guest-sdk/go/inboxtest"
	"github.com/inbox-wasm/inbox-wasm/host/engine"
	"github.com/inbox-wasm/inbox-wasm/internal/testwasm"
)

func TestSQLOnTheRealHost(t *testing.T) {
	runtime, err := engine.New(t.Context(), engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = runtime.Close(context.Background()) })
	module, err := runtime.Load(t.Context(), testwasm.Go(t, "testdata/writes"), engine.Limits{Allowed: []string{"db"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = module.Close(context.Background()) })
	instance, err := module.NewInstance(t.Context(), engine.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = instance.Close(context.Background()) })
	statements := func(_ context.Context, conn int32, sql string, args []byte) ([]byte, abi.Errno) {
		if want := `[4611686018427387905,"ü",{"base64":"AP8="},true,null]`; string(args) != want {
			t.Errorf("arguments %s, want %s", args, want)
		}
		if onPool := conn == engine.ConnPool; onPool != (sql == "other") {
			t.Errorf("%s runs on %d", sql, conn)
		}
		switch sql {
		case "fail":
			return []byte(`{"message":"a key is there","sqlstate":"23505"}`), abi.Failed
		case "large":
			return nil, abi.TooLarge
		}
		return []byte(`{"columns":["n","t","b"],"rows":[[4611686018427387905,"ü",{"base64":"AP8="}]],"affected":3}`), 0
	}
	for payload, want := range map[string]string{
		"SELECT":     "[n t b] 4611686018427387905ü[0 255] 3",
		"fail":       "-4 sql: a key is there (23505)",
		"pool:other": "[n t b] 4611686018427387905ü[0 255] 3",
		"large":      "-6 sql: the answer is beyond limits.db_result, though the statement took effect",
	} {
		r := instance.Handle(t.Context(), &engine.Message{Payload: []byte(payload), Statements: statements})
		if r.Code != abi.DeadLetter || r.Reason != want {
			t.Errorf("%s: %v %q, want %q", payload, r.Code, r.Reason, want)
		}
	}
}

// A handler may use both of its connections.
func TestSQLOnThePool(t *testing.T) {
	host := inboxtest.New(t, nil)
	host.Tx = func(sql, _ string) (string, error) { return "", &inbox.SQLError{Message: "not here: " + sql} }
	host.Pool = func(sql, args string) (string, error) {
		if sql != "SELECT $1" || args != "[7]" {
			return "", &inbox.SQLError{Message: sql + args}
		}
		return `{"columns":["n"],"rows":[[7]],"affected":0}`, nil
	}
	r := host.Deliver(func(*inbox.Message) error {
		rows, err := inbox.Pool.Query("SELECT $1", 7)
		if err != nil {
			return err
		}
		var n int
		if err := rows.Rows[0].Scan(&n); err != nil || n != 7 {
			return inbox.Drop("it answers something else")
		}
		return nil
	}, inboxtest.Message{})
	if r.Outcome != inboxtest.Ack {
		t.Errorf("%+v", r)
	}
}

func TestSQLOnTheFakeHost(t *testing.T) {
	host := inboxtest.New(t, nil)
	handle := func(m *inbox.Message) error {
		n, err := inbox.Tx.Exec("UPDATE t SET a = $1", m.Payload())
		if err == nil && n != 2 {
			return inbox.Drop("it changed another number of rows")
		}
		return err
	}
	if r := host.Deliver(handle, inboxtest.Message{}); r.Outcome != inboxtest.RetryAfter {
		t.Errorf("without a transaction: %+v", r)
	}
	host.Tx = func(sql, args string) (string, error) {
		if sql != "UPDATE t SET a = $1" || args != `[{"base64":"eA=="}]` {
			return "", &inbox.SQLError{Message: sql + args, SQLState: "42601"}
		}
		return `{"columns":[],"rows":[],"affected":2}`, nil
	}
	if r := host.Deliver(handle, inboxtest.Message{Payload: []byte("x")}); r.Outcome != inboxtest.Ack {
		t.Errorf("%+v", r)
	}
	if r := host.Deliver(handle, inboxtest.Message{Payload: []byte("y")}); r.Reason != `sql: UPDATE t SET a = $1[{"base64":"eQ=="}] (42601)` {
		t.Errorf("%+v", r)
	}
}
