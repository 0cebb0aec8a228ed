package mysql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	mysqldriver "github.com/go-sql-driver/mysql"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/dialect/store/sqlstore"
)

// Open connects to the server that a mysql:// or mariadb:// URL names. The query string takes the
// parameters of go-sql-driver, and socket for a Unix socket. The server is asked once, so that a
// wrong URL fails here.
func Open(ctx context.Context, d dialect.Dialect, rawURL string, o store.Options) (store.Store, error) {
	config, err := parse(rawURL)
	if err != nil {
		return nil, err
	}
	connector, err := mysqldriver.NewConnector(config)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(session{connector})
	db.SetMaxOpenConns(o.MaxConnections)
	db.SetMaxIdleConns(o.MaxConnections)
	db.SetConnMaxIdleTime(5 * time.Minute)
	s := sqlstore.Config{DB: db, Dialect: d, Failure: failure, BeginWork: begin, Chain: "COMMIT AND CHAIN", Guest: guests(connector),
		VersionSQL: "SELECT VERSION()", Place: config.Net + " " + config.Addr}
	var version string
	if err := db.QueryRowContext(ctx, s.VersionSQL).Scan(&version); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	if strings.Contains(version, "MariaDB") {
		s.Together = compound
	}
	return sqlstore.New(s), nil
}

// compound makes one statement of several, which MariaDB runs outside of stored programs too (MariaDB documentation, "BEGIN
// NOT ATOMIC"); MySQL does not. Unlike several statements in one text it needs no connection that takes such texts, on which
// a guest's one statement could become two.
func compound(statements []string) string {
	return "BEGIN NOT ATOMIC " + strings.Join(statements, "; ") + "; END"
}

func parse(rawURL string) (*mysqldriver.Config, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, errors.New("the URL cannot be parsed; percent-encode special characters in the password")
	}
	database := strings.TrimPrefix(u.Path, "/")
	if database == "" {
		return nil, errors.New("the URL names no database; end it in /NAME")
	}
	query := u.Query()
	socket := query.Get("socket")
	query.Del("socket")
	config, err := mysqldriver.ParseDSN("/?" + query.Encode())
	if err != nil {
		return nil, fmt.Errorf("the URL's parameters: %w", err)
	}
	config.User = u.User.Username()
	config.Passwd, _ = u.User.Password()
	config.DBName = database
	config.Net, config.Addr = "tcp", u.Host
	switch {
	case socket != "":
		config.Net, config.Addr = "unix", socket
	case u.Port() == "":
		config.Addr = u.Hostname() + ":3306"
		if strings.Contains(u.Hostname(), ":") {
			config.Addr = "[" + u.Hostname() + "]:3306"
		}
	}
	// Arguments travel in the text: one round trip a statement, and no statement left behind on a
	// server or a pooler. Rows found count as changed, as on the other databases.
	config.InterpolateParams = true
	config.ClientFoundRows = true
	config.ParseTime = false
	config.MultiStatements = false
	// A server that has become read-only loses its connections, so that the pool finds the writer.
	config.RejectReadOnly = true
	config.Logger = &mysqldriver.NopLogger{}
	if config.Timeout == 0 {
		config.Timeout = 10 * time.Second
	}
	return config, nil
}

// session is a connector whose connections all start with the settings that the statements rely on.
type session struct{ driver.Connector }

const settings = "SET SESSION autocommit = 1, completion_type = 'NO_CHAIN', time_zone = '+00:00', innodb_lock_wait_timeout = 5, " +
	"sql_mode = 'STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO'"

const isolation = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"

// Connect implements [driver.Connector].
func (s session) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := s.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	execer, ok := conn.(driver.ExecerContext)
	if !ok {
		return nil, errors.Join(errors.New("the driver's connection runs no statements"), conn.Close())
	}
	for _, text := range []string{settings, isolation} {
		if _, err := execer.ExecContext(ctx, text, nil); err != nil {
			return nil, errors.Join(fmt.Errorf("set up the session: %w", err), conn.Close())
		}
	}
	return conn, nil
}

// failure follows the servers' error reference: a deadlock (1213) and a lock wait (1205) pass, as do
// too many connections (1040) and a table that changed under the statement (1412, 1020). A session that
// was killed (1927, 1317), a statement that ran out of its time (1969), which may be a commit and what is behind it, and a
// server that stops (1053) say nothing of what they did. A bad connection is one
// on which nothing was sent, or whose server is read-only (1290, 1792, 1836) and did nothing.
func failure(err error) store.Failure {
	var answered *mysqldriver.MySQLError
	switch {
	case errors.As(err, &answered):
	case errors.Is(err, driver.ErrBadConn):
		return store.Unsent
	default:
		return store.Unanswered
	}
	switch answered.Number {
	case 1213, 1205, 1040, 1412, 1020:
		return store.Transient
	case 1053, 1317, 1927, 1969:
		return store.Unanswered
	default:
		return store.Refused
	}
}
