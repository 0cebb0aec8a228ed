package admin

import (
	"context"
	"fmt"
	"strconv"

	"github.com/inbox-wasm/inbox-wasm/dialect"
)

// Sessions are those of a process on the database's server.
type Sessions struct {
	Name     string `json:"name"`
	Address  string `json:"address"`
	Sessions int64  `json:"sessions"`
	Active   int64  `json:"active"` // that run a statement
	// InTransaction is how many are in a transaction, and Oldest for how many seconds the oldest of them has been; nil
	// where the server does not tell.
	InTransaction *int64   `json:"in_transaction,omitempty"`
	Oldest        *float64 `json:"oldest_seconds,omitempty"`
}

// Sessions lists what the database knows of every process that works on it, but for the session that asks; nil where it
// knows nothing.
func (a *Admin) Sessions(ctx context.Context) ([]Sessions, error) {
	d, ok := a.dialect.(dialect.Witness)
	if !ok {
		return nil, nil
	}
	statement := d.Sessions()
	list := []Sessions{}
	err := a.store.Query(ctx, &statement, 0, nil, func(v [][]byte) (err error) {
		s := Sessions{Name: string(v[0]), Address: string(v[1])}
		number := func(text []byte) (n int64) {
			if err == nil {
				n, err = strconv.ParseInt(string(text), 10, 64)
			}
			return n
		}
		s.Sessions, s.Active = number(v[2]), number(v[3])
		if v[4] != nil {
			n := number(v[4])
			s.InTransaction = &n
		}
		if age, failed := strconv.ParseFloat(string(v[5]), 64); failed == nil {
			s.Oldest = &age
		}
		list = append(list, s)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list the sessions of the database: %w", err)
	}
	return list, nil
}
