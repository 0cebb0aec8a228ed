package mssql

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/databases"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
)

// serverAnswer is an error as the driver has it.
type serverAnswer struct {
	number int32
	class  uint8
}

func (s serverAnswer) Error() string         { return fmt.Sprintf("error %d", s.number) }
func (s serverAnswer) SQLErrorNumber() int32 { return s.number }
func (s serverAnswer) SQLErrorClass() uint8  { return s.class }

func TestFailure(t *testing.T) {
	for _, test := range []struct {
		err  error
		want store.Failure
	}{
		{serverAnswer{1205, 13}, store.Transient},
		{fmt.Errorf("commit: %w", serverAnswer{1222, 16}), store.Transient},
		{serverAnswer{2627, 14}, store.Refused},
		{serverAnswer{1205, 21}, store.Unanswered},
		{io.ErrUnexpectedEOF, store.Unanswered},
	} {
		if got := failure(test.err); got != test.want {
			t.Errorf("%v: %d, want %d", test.err, got, test.want)
		}
	}
}

func TestBegin(t *testing.T) {
	for level, want := range map[dialect.Level]string{"": "READ COMMITTED", dialect.RepeatableRead: "REPEATABLE READ"} {
		if got := strings.Join(begin(store.TxOptions{Level: level}), "; "); got != "SET TRANSACTION ISOLATION LEVEL "+want+"; BEGIN TRANSACTION" {
			t.Errorf("%q: %s", level, got)
		}
	}
}

// TestOpen says what is missing, and never repeats the URL.
func TestOpen(t *testing.T) {
	for url, want := range map[string]string{
		"sqlserver://sa:s3cr3t@localhost?database=inbox": `unknown driver "sqlserver"`,
		"sqlserver://sa:s3cr3t@localhost":                "names no database",
		"sqlserver://sa:s3cr3t%@localhost":               "cannot be parsed",
	} {
		_, err := databases.Open(context.Background(), append(databases.Builtin(), Database), url, store.Options{MaxConnections: 1})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("%s: %v", want, err)
		}
	}
}
