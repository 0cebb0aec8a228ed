package bench

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

// mySQL is the loops for MySQL and MariaDB, over database/sql. As in the host, arguments travel in the text.
type mySQL struct {
	connector driver.Connector
	admin     *sql.DB
	server    int // the server's process, 0 where it is not on this machine
}

func openMySQL(ctx context.Context, rawURL string) (database, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, errors.New("the URL cannot be parsed")
	}
	config := mysql.NewConfig()
	config.User = u.User.Username()
	config.Passwd, _ = u.User.Password()
	config.Net, config.Addr = "tcp", u.Host
	if u.Port() == "" {
		config.Addr = net.JoinHostPort(u.Hostname(), "3306")
	}
	if socket := u.Query().Get("socket"); socket != "" {
		config.Net, config.Addr = "unix", socket
	}
	config.DBName = strings.TrimPrefix(u.Path, "/")
	config.InterpolateParams = true
	config.Logger = &mysql.NopLogger{}
	m := &mySQL{}
	if m.connector, err = mysql.NewConnector(config); err != nil {
		return nil, err
	}
	m.admin = sql.OpenDB(m.connector)
	m.admin.SetMaxOpenConns(1)
	if err := m.admin.PingContext(ctx); err != nil {
		return nil, errors.Join(err, m.admin.Close())
	}
	if address := net.ParseIP(u.Hostname()); config.Net == "unix" || u.Hostname() == "localhost" || address.IsLoopback() {
		m.server = m.findServer(ctx)
	}
	return m, nil
}

// findServer is 0 where the file with the process's number cannot be read.
func (m *mySQL) findServer(ctx context.Context) int {
	var file string
	if err := m.admin.QueryRowContext(ctx, "SELECT @@pid_file").Scan(&file); err != nil {
		return 0
	}
	number, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(number)))
	if err != nil {
		return 0
	}
	return pid
}

func (m *mySQL) close() error { return m.admin.Close() }

func (m *mySQL) cpu() (time.Duration, bool) {
	p, err := readProcess(m.server)
	return p.cpu, m.server != 0 && err == nil
}

func (m *mySQL) fill(ctx context.Context, t *queue) error {
	if err := insert(ctx, m.admin, t); err != nil {
		return err
	}
	_, err := m.admin.ExecContext(ctx, "ANALYZE TABLE "+tableName)
	return err
}

func (m *mySQL) counted(ctx context.Context) (c counts, err error) {
	rows, err := m.admin.QueryContext(ctx, "SHOW GLOBAL STATUS WHERE variable_name IN ('Handler_commit', 'Handler_rollback', 'Connections')")
	if err != nil {
		return c, err
	}
	defer rows.Close()
	var transactions, sessions float64
	for rows.Next() {
		var name string
		var n float64
		if err := rows.Scan(&name, &n); err != nil {
			return c, err
		}
		if name == "Connections" {
			sessions = n
		} else {
			transactions += n
		}
	}
	return counts{&transactions, &sessions}, rows.Err()
}

func (m *mySQL) loops(f Form) []loop {
	one := func(name string, size int, turn func(*sqlWorker, context.Context) (int, error)) loop {
		return loop{name, size, func(_ context.Context, _ *queue, workers int) (crew, error) {
			pool := sql.OpenDB(m.connector)
			pool.SetMaxOpenConns(connections(workers))
			pool.SetMaxIdleConns(connections(workers))
			return &sqlCrew{pool, size, turn}, nil
		}}
	}
	switch f {
	case Lease:
		return []loop{
			one("loop, one row", 1, (*sqlWorker).lease),
			one("loop, groups of 100", 100, (*sqlWorker).lease),
			one("loop, groups of 1000", 1000, (*sqlWorker).lease),
		}
	case RowLock:
		return []loop{
			one("loop, one row", 1, (*sqlWorker).rowLock),
			one("loop, 16 a transaction", 16, (*sqlWorker).rowLock),
		}
	default:
		return []loop{one("loop, a key a session", 1, (*sqlWorker).advisory)}
	}
}

type sqlCrew struct {
	pool *sql.DB
	size int
	turn func(*sqlWorker, context.Context) (int, error)
}

func (c *sqlCrew) close() { c.pool.Close() }

// worker holds its session at READ COMMITTED: at the default, claims lock what lies between the rows too.
func (c *sqlCrew) worker(ctx context.Context) (func(context.Context) (int, error), func(), error) {
	conn, err := c.pool.Conn(ctx)
	if err != nil {
		return nil, nil, err
	}
	if _, err := conn.ExecContext(ctx, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"); err != nil {
		return nil, nil, errors.Join(err, conn.Close())
	}
	w := &sqlWorker{conn: conn, size: c.size}
	return func(ctx context.Context) (int, error) { return c.turn(w, ctx) }, func() { conn.Close() }, nil
}

// sqlWorker is one worker of a loop, with its session.
type sqlWorker struct {
	conn *sql.Conn
	size int
	jobs []job
	ids  []any
}

func (w *sqlWorker) claim(ctx context.Context, in queryer, text string, args ...any) error {
	rows, err := in.QueryContext(ctx, text, args...)
	w.jobs, err = claimed(w.jobs, rows, err)
	w.ids = w.ids[:0]
	for _, j := range w.jobs {
		w.ids = append(w.ids, j.id)
	}
	return err
}

// inTransaction runs work in one, and again where a deadlock or a lock wait rolled it back.
func (w *sqlWorker) inTransaction(ctx context.Context, work func(*sql.Tx) error) error {
	for {
		err := func() error {
			tx, err := w.conn.BeginTx(ctx, nil)
			if err != nil {
				return err
			}
			defer tx.Rollback() // after a commit it does nothing
			if err := work(tx); err != nil {
				return err
			}
			return tx.Commit()
		}()
		var refused *mysql.MySQLError
		if !errors.As(err, &refused) || refused.Number != 1213 && refused.Number != 1205 {
			return err
		}
	}
}

// lease claims rows in a transaction, and settles those of a claim with one statement, while the expiry is still the
// claim's.
func (w *sqlWorker) lease(ctx context.Context) (int, error) {
	now, token := expiry()
	err := w.inTransaction(ctx, func(tx *sql.Tx) error {
		err := w.claim(ctx, tx, "SELECT id, payload FROM "+tableName+" WHERE locked_until IS NULL OR locked_until <= ? ORDER BY id LIMIT ? FOR UPDATE SKIP LOCKED", now, w.size)
		if err != nil || len(w.jobs) == 0 {
			return err
		}
		n, err := changed(tx.ExecContext(ctx, "UPDATE "+tableName+" SET locked_until = ?, attempt = attempt + 1 WHERE id IN ("+list("?", len(w.ids))+")",
			append([]any{token}, w.ids...)...))
		if err != nil {
			return err
		}
		return all("the claim", n, len(w.jobs))
	})
	if err != nil || len(w.jobs) == 0 {
		return 0, err
	}
	if err := handle(w.jobs...); err != nil {
		return 0, err
	}
	n, err := changed(w.conn.ExecContext(ctx, "DELETE FROM "+tableName+" WHERE id IN ("+list("?", len(w.ids))+") AND locked_until = ?", append(w.ids, token)...))
	if err != nil {
		return 0, err
	}
	return len(w.jobs), all("the settlement", n, len(w.jobs))
}

// rowLock handles rows in a transaction that holds them.
func (w *sqlWorker) rowLock(ctx context.Context) (int, error) {
	err := w.inTransaction(ctx, func(tx *sql.Tx) error {
		err := w.claim(ctx, tx, "SELECT id, payload FROM "+tableName+" ORDER BY id LIMIT ? FOR UPDATE SKIP LOCKED", w.size)
		if err != nil || len(w.jobs) == 0 {
			return err
		}
		if err := handle(w.jobs...); err != nil {
			return err
		}
		n, err := changed(tx.ExecContext(ctx, "DELETE FROM "+tableName+" WHERE id IN ("+list("?", len(w.ids))+")", w.ids...))
		if err != nil {
			return err
		}
		return all("the settlement", n, len(w.jobs))
	})
	if err != nil {
		return 0, err
	}
	return len(w.jobs), nil
}

// advisoryLock locks the first key that is free among those of the first rows: the lock is tried row by row, until the
// limit is reached, since a derived table with a limit is read as it is.
const advisoryLock = "SELECT id, name FROM (SELECT id, CONCAT('" + tableName + "-', customer) AS name FROM " + tableName +
	" ORDER BY id LIMIT ?) AS c WHERE GET_LOCK(name, 0) = 1 LIMIT 1"

// advisory holds one key: lock, take, settle, unlock. A row may be finished between the look at it and its lock: then it
// looks again.
func (w *sqlWorker) advisory(ctx context.Context) (int, error) {
	for {
		var id int64
		var name string
		switch err := w.conn.QueryRowContext(ctx, advisoryLock, candidates).Scan(&id, &name); {
		case errors.Is(err, sql.ErrNoRows):
			return 0, nil
		case err != nil:
			return 0, err
		}
		n, err := w.underLock(ctx, id)
		var released sql.NullBool
		err = errors.Join(err, w.conn.QueryRowContext(ctx, "SELECT RELEASE_LOCK(?)", name).Scan(&released))
		if err == nil && !released.Bool {
			err = fmt.Errorf("the lock of row %d was not held", id)
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
}

func (w *sqlWorker) underLock(ctx context.Context, id int64) (int, error) {
	taken, err := changed(w.conn.ExecContext(ctx, "UPDATE "+tableName+" SET attempt = attempt + 1 WHERE id = ?", id))
	if err != nil || taken == 0 {
		return 0, err
	}
	if err := w.claim(ctx, w.conn, "SELECT id, payload FROM "+tableName+" WHERE id = ?", id); err != nil {
		return 0, err
	}
	if err := handle(w.jobs...); err != nil {
		return 0, err
	}
	n, err := changed(w.conn.ExecContext(ctx, "DELETE FROM "+tableName+" WHERE id = ?", id))
	if err != nil {
		return 0, err
	}
	return 1, all("the settlement", n, 1)
}
