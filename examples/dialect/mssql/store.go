package mssql

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"time"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/databases"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/dialect/store/sqlstore"
)

// Database is what a program's main appends to its databases. The driver that is registered under the
// name sqlserver runs the statements.
var Database = databases.Database{Schemes: []string{"sqlserver"}, Dialect: New(), Open: Open}

// Open connects to the server that a sqlserver:// URL names, in the form that the driver
// microsoft/go-mssqldb takes.
func Open(ctx context.Context, d dialect.Dialect, rawURL string, o store.Options) (store.Store, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		// The error's own text repeats the URL, which may hold a password.
		return nil, errors.New("the URL cannot be parsed; percent-encode special characters in the password")
	}
	name := u.Query().Get("database")
	if name == "" {
		return nil, errors.New("the URL names no database; end it in ?database=NAME")
	}
	db, err := sql.Open("sqlserver", rawURL)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(o.MaxConnections)
	db.SetMaxIdleConns(o.MaxConnections)
	db.SetConnMaxIdleTime(5 * time.Minute)
	if err := db.PingContext(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return sqlstore.New(sqlstore.Config{DB: db, Dialect: d, Failure: failure, BeginWork: begin, VersionSQL: versionSQL,
		Place: u.Host + "/" + name}), nil
}

// versionSQL knows Azure SQL by the editions 5 and 8 ("SERVERPROPERTY").
const versionSQL = "SELECT CASE WHEN SERVERPROPERTY('EngineEdition') IN (5, 8) THEN N'" + azure +
	"' ELSE CONVERT(nvarchar(128), SERVERPROPERTY('ProductVersion')) END"

// begin lists the statements that start a transaction. The level is always named, since it stays with
// the session.
func begin(o store.TxOptions) []string {
	level := o.Level
	if level == "" {
		level = dialect.ReadCommitted
	}
	return []string{"SET TRANSACTION ISOLATION LEVEL " + level.SQL(), "BEGIN TRANSACTION"}
}

// serverError is the driver's error for what the server answers.
type serverError interface {
	SQLErrorNumber() int32
	SQLErrorClass() uint8
}

// failure knows a deadlock (1205) and a lock wait (1222), which pass. From class 20 on the server has
// ended the connection ("Database Engine error severities").
func failure(err error) store.Failure {
	var answered serverError
	switch {
	case !errors.As(err, &answered), answered.SQLErrorClass() >= 20:
		return store.Unanswered
	case answered.SQLErrorNumber() == 1205, answered.SQLErrorNumber() == 1222:
		return store.Transient
	default:
		return store.Refused
	}
}
