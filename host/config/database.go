package config

import (
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
)

// Database is [database].
type Database struct {
	section
	URL             Secret // starts with postgres: postgresql: mysql: mariadb: sqlite: or a scheme of the program's own
	MaxConnections  int    // of the service's pool
	ConnectionLimit int    // the pool's and every thread's together
	HandlerURL      Secret // of the threads' own pools; empty means URL
}

func databaseKeys(d *Database) keys {
	return keys{
		{"url", databaseURL(&d.URL)},
		{"max_connections", number(&d.MaxConnections, 1, 10_000)},
		{"connection_limit", number(&d.ConnectionLimit, 1, 100_000)},
		{"handler_url", optionalDatabaseURL(&d.HandlerURL)},
	}
}

// The databases that a rule of the file tells apart.
const (
	postgres = "postgres"
	mysql    = "mysql"
	sqlite   = "sqlite"
)

// engines maps a URL's scheme to its database.
var engines = map[string]string{
	"postgres": postgres, "postgresql": postgres, "mysql": mysql, "mariadb": mysql, "sqlite": sqlite,
}

// known lists what a URL can start with.
func (p *parser) known() string {
	list := []string{"postgres://", "mysql://", "mariadb://", "sqlite:"}
	for _, scheme := range p.schemes {
		list = append(list, scheme+":")
	}
	last := len(list) - 1
	return strings.Join(list[:last], ", ") + " or " + list[last]
}

// engine returns the database that a URL names, "" for none and for one of the program's own.
func (s Secret) engine() string {
	scheme, _, _ := strings.Cut(string(s), ":")
	return engines[scheme]
}

func databaseURL(dst *Secret) reader {
	return func(p *parser, n *node) {
		s, ok := p.text(n)
		if !ok {
			return
		}
		if fault := p.checkURL(s); fault != nil {
			p.fail(n, fault.what, fault.remedy)
			return
		}
		*dst = p.resolveURL(Secret(s))
	}
}

// optionalDatabaseURL takes an empty text for none.
func optionalDatabaseURL(dst *Secret) reader {
	return func(p *parser, n *node) {
		if s, ok := p.text(n); ok && s != "" {
			databaseURL(dst)(p, n)
		}
	}
}

// checkURL says what is wrong with a database's URL without quoting it. That of a database of the
// program's own is for its store to read.
func (p *parser) checkURL(s string) *fault {
	schemes := p.known()
	if s == "" {
		return &fault{"must not be empty", "write the database's URL; it starts with " + schemes}
	}
	scheme, rest, found := strings.Cut(s, ":")
	engine := engines[scheme]
	switch {
	case found && slices.Contains(p.schemes, scheme):
		return nil
	case !found || engine == "" && !strings.HasPrefix(rest, "//"):
		return &fault{"is no URL", "write a URL and not a driver's connection string; it starts with " + schemes}
	case engine == "":
		return &fault{"names a database that is not supported", "start the URL with " + schemes}
	case engine != sqlite && !strings.HasPrefix(rest, "//"):
		return &fault{"lacks the // after its scheme", "write " + scheme + "://USER:PASSWORD@HOST/DATABASE"}
	}
	u, err := url.Parse(s)
	if err != nil {
		return &fault{"is no valid URL", "percent-encode the characters of the user and the password that are not letters or digits"}
	}
	switch {
	case engine == sqlite:
		return checkSQLite(s)
	case engine == mysql && strings.Trim(u.Path, "/") == "":
		return &fault{"names no database", "end it in /NAME"}
	}
	for parameter := range u.Query() {
		for _, refused := range []string{"multiStatements", "allowAllFiles"} {
			if strings.EqualFold(parameter, refused) {
				return &fault{"sets " + refused + ", which lets a guest's SQL out of its bounds", "remove the parameter"}
			}
		}
	}
	return nil
}

// sqliteFile returns the file that an SQLite URL names, "" where there is none.
func (s Secret) sqliteFile() string {
	path, isSQLite := strings.CutPrefix(string(s), "sqlite:")
	path, err := url.PathUnescape(strings.TrimPrefix(path, "//"))
	if !isSQLite || err != nil {
		return ""
	}
	return filepath.FromSlash(path)
}

func checkSQLite(s string) *fault {
	const remedy = `write "sqlite:inbox.db"`
	switch path := Secret(s).sqliteFile(); {
	case path == "":
		return &fault{"names no file", remedy}
	case path == ":memory:":
		return &fault{"names no file, and a queue in memory ends with its process", remedy}
	case strings.Contains(s, "?"):
		return &fault{"has parameters, which SQLite's takes none of", remedy}
	}
	return nil
}

// resolveURL lets the file of an SQLite database start at the directory of inbox.toml.
func (p *parser) resolveURL(s Secret) Secret {
	if s.engine() != sqlite {
		return s
	}
	file := filepath.ToSlash(p.resolve(s.sqliteFile()))
	return Secret("sqlite:" + (&url.URL{Path: file}).EscapedPath())
}

func (p *parser) checkDatabase(c *Config) {
	d := p.root.find("database")
	if d == nil {
		p.add(p.root.pos, "database.url", "is required", `write [database] and url = "${DATABASE_URL}" below`)
		d = &node{path: "database"}
	} else if d.table != nil && !d.has("url") {
		p.refuse(d, "url", "is required", `write url = "${DATABASE_URL}"`)
	}
	if c.Database.ConnectionLimit < c.Database.MaxConnections {
		key := "connection_limit"
		if !d.has(key) {
			key = "max_connections"
		}
		p.refuse(d, key, fmt.Sprintf("the pool's %s are more than all connections together may be, %s", amount(d, "max_connections", c.Database.MaxConnections), amount(d, "connection_limit", c.Database.ConnectionLimit)),
			"raise connection_limit or lower max_connections")
	}
	if e := c.Database.HandlerURL.engine(); e != "" && e != c.Database.URL.engine() && c.Database.URL != "" {
		p.refuse(d, "handler_url", "names another kind of database than url", "name the same database as a role with fewer rights")
	}
}
