package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver pgx

	"github.com/inbox-wasm/inbox-wasm/dialect/databases"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/host"
	"github.com/inbox-wasm/inbox-wasm/host/config"
)

const section = `[tables.%[1]s]
id = "id"
group = "name"
attempt = "attempt"
retry_after = "retry_after"
payload = "payload"
error = "error"
%[2]s
[handlers.%[1]s]
module = "guest.wasm"
table = "%[1]s"
group = "work"
threads = 2
max_attempts = 3
dead_letter = "dead"
backoff = { initial = "200ms", max = "1s" }
`

// guest assembles the handler.
func guest(dir string) error {
	cmd := exec.Command("wat2wasm", "internal/soak/guest.wat", "-o", filepath.Join(dir, "guest.wasm"))
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd, err, text)
	}
	return nil
}

// open makes the tables of a database and opens a service on them.
func open(ctx context.Context, dir, name, url string, rate int) (s *soak, err error) {
	if name == "MariaDB" {
		if url, err = newMariaDB(ctx, url); err != nil {
			return nil, err
		}
	}
	s = &soak{name: name, rate: rate, forms: []string{"lease", "advisory", "row_lock"}}
	roles := map[string]string{"lease": `locked_until = "locked_until"`, "advisory": `advisory_lock = "soak-{id}"`, "row_lock": ""}
	if name == "SQLite" {
		s.forms = s.forms[:2]
	}
	toml := fmt.Sprintf("[database]\nurl = %q\n[runtime]\ncache_dir = \"cache-%s\"\n", url, name)
	for _, form := range s.forms {
		toml += fmt.Sprintf(section, form, roles[form])
	}
	cfg, err := config.Parse(filepath.Join(dir, "inbox.toml"), []byte(toml), os.LookupEnv)
	if err != nil {
		return nil, err
	}
	if err := create(ctx, cfg); err != nil {
		return nil, err
	}
	if s.service, err = host.Open(ctx, host.Options{Config: cfg, Log: quiet}); err != nil {
		return nil, err
	}
	watch, err := connect(name, url)
	if err != nil {
		return nil, errors.Join(err, s.service.Close())
	}
	s.sizes = func(ctx context.Context) (sizes [2]float64, err error) {
		for i, query := range queries[name] {
			if err := watch.QueryRowContext(ctx, query).Scan(&sizes[i]); err != nil {
				return sizes, fmt.Errorf("%s: %w", query, err)
			}
		}
		return sizes, nil
	}
	s.close = func() error { return errors.Join(watch.Close(), s.service.Close()) }
	return s, nil
}

func create(ctx context.Context, cfg *config.Config) (err error) {
	s, err := databases.Open(ctx, databases.Builtin(), cfg.Database.URL.Reveal(), store.Options{MaxConnections: 1})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	for _, t := range cfg.Tables {
		schema := s.Dialect().Schema(t.Declared())
		for _, sql := range []string{schema.Table, schema.Index} {
			if err := s.Script(ctx, sql); err != nil {
				return err
			}
		}
	}
	return nil
}

// queries ask for the sessions of a database, but for the one that asks, and for the bytes of its tables.
var queries = map[string][2]string{
	"PostgreSQL": {
		"SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()",
		"SELECT sum(pg_total_relation_size(c.oid))::float8 FROM pg_class c WHERE c.relname IN ('lease', 'advisory', 'row_lock') AND c.relkind = 'r'",
	},
	"MariaDB": {
		"SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE DB = DATABASE() AND ID <> CONNECTION_ID()",
		"SELECT SUM(FILE_SIZE) FROM information_schema.INNODB_SYS_TABLESPACES WHERE NAME LIKE CONCAT(DATABASE(), '/%')",
	},
	"SQLite": {"SELECT 0", "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()"},
}

func newMariaDB(ctx context.Context, url string) (string, error) {
	db, err := connect("MariaDB", url)
	if err != nil {
		return "", err
	}
	_, err = db.ExecContext(ctx, "CREATE DATABASE soak")
	return url + "soak", errors.Join(err, db.Close())
}

// connect opens a database for a look at it.
func connect(name, url string) (*sql.DB, error) {
	switch name {
	case "PostgreSQL":
		return sql.Open("pgx", url)
	case "MariaDB":
		cfg := mysql.NewConfig()
		user, rest, _ := strings.Cut(strings.TrimPrefix(url, "mariadb://"), "@")
		cfg.User, cfg.Net = user, "tcp"
		cfg.Addr, cfg.DBName, _ = strings.Cut(rest, "/")
		connector, err := mysql.NewConnector(cfg)
		if err != nil {
			return nil, err
		}
		return sql.OpenDB(connector), nil
	default:
		return sql.Open("sqlite", strings.TrimPrefix(url, "sqlite:"))
	}
}
