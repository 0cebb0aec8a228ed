package bench

import (
	"context"
	"database/sql"
	"strings"
	"time"
)

// insertRows is how many rows one INSERT of the filling writes.
const insertRows = 500

// insert fills the table over database/sql, in one transaction.
func insert(ctx context.Context, db *sql.DB, t *queue) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // after a commit it does nothing
	columns, places := "payload", "(?)"
	if t.form == Advisory {
		columns, places = "payload, customer", "(?, ?)"
	}
	for n := 0; n < t.Rows; {
		last := min(n+insertRows, t.Rows)
		text := "INSERT INTO " + tableName + " (" + columns + ") VALUES " + list(places, last-n)
		var args []any
		for ; n < last; n++ {
			args = append(args, t.payload(n))
			if t.form == Advisory {
				args = append(args, t.key(n))
			}
		}
		if _, err := tx.ExecContext(ctx, text, args...); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// list repeats what stands in a list.
func list(of string, n int) string { return strings.TrimSuffix(strings.Repeat(of+",", n), ",") }

// queryer is a connection or a transaction.
type queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// claimed reads the rows that a statement has claimed.
func claimed(jobs []job, rows *sql.Rows, err error) ([]job, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	jobs = jobs[:0]
	for rows.Next() {
		var j job
		if err := rows.Scan(&j.id, &j.payload); err != nil {
			return nil, err
		}
		jobs = append(jobs, j)
	}
	return jobs, rows.Err()
}

// changed is how many rows a statement changed.
func changed(r sql.Result, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

// expiry gives the time of a claim and its token, as text that keeps its digits.
func expiry() (now, token string) {
	const layout = "2006-01-02 15:04:05.000000"
	at := time.Now().UTC()
	return at.Format(layout), at.Add(leaseTime).Format(layout)
}
