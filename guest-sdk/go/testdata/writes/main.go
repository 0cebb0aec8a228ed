// Command writes is a handler that writes in its delivery's transaction, or on its thread's pool.
package main

import (
	"errors"
	"fmt"
	"strings"

	inbox "github.com/inbox-wasm/inbox-wasm/guest-sdk/go"
)

func init() { inbox.Handle(handle) }

func main() {}

// handle runs its payload as a statement with one argument of each kind, and says what came of it.
func handle(m *inbox.Message) error {
	conn, sql := inbox.Tx, string(m.Payload())
	if rest, pool := strings.CutPrefix(sql, "pool:"); pool {
		conn, sql = inbox.Pool, rest
	}
	rows, err := conn.Query(sql, int64(1)<<62+1, "ü", []byte{0, 255}, true, nil)
	var refused *inbox.SQLError
	if errors.As(err, &refused) {
		return inbox.DeadLetter(fmt.Sprint(refused.Code, " ", refused))
	}
	if err != nil {
		return err
	}
	var n int64
	var text string
	var raw []byte
	if err := rows.Rows[0].Scan(&n, &text, &raw); err != nil {
		return err
	}
	return inbox.DeadLetter(fmt.Sprint(rows.Columns, n, text, raw, rows.Affected))
}
