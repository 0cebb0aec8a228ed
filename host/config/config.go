// Package config reads inbox.toml. It is strict: an unknown key, a value out of range or keys that
// contradict each other are refused, and all problems of a file are reported at once, each with its
// file, line, key path, what is wrong and what to do about it.
package config

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"
)

// Config is one inbox.toml, complete: defaults are filled in, names are resolved, relative paths start
// at the file's directory. Printing it, or a part of it, prints key paths and no values, since any
// value may come from a secret.
type Config struct {
	section
	Path     string     // the file, as it was named
	Database Database   // [database]
	Runtime  Runtime    // [runtime]
	Tables   []*Table   // [tables.*], in the file's order
	Handlers []*Handler // [handlers.*], in the file's order
}

// Table returns the table declared as [tables.key], or nil.
func (c *Config) Table(key string) *Table {
	for _, t := range c.Tables {
		if t.Key == key {
			return t
		}
	}
	return nil
}

// Load reads the file at path. lookup finds environment variables, as os.LookupEnv does. schemes are
// those of the URLs of databases that do not come with the program. An error is Problems, or the reason
// why the file cannot be read.
func Load(path string, lookup func(string) (string, bool), schemes ...string) (*Config, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	return Parse(path, data, lookup, schemes...)
}

// Parse is Load for data that is already read. The directory of file is the base of relative paths,
// and file stands in the problems. An error is Problems.
func Parse(file string, data []byte, lookup func(string) (string, bool), schemes ...string) (*Config, error) {
	p := newParser(file, lookup, schemes...)
	c := p.parse(data)
	if len(p.found) > 0 {
		return nil, p.result()
	}
	return c, nil
}

func newConfig(file string) *Config {
	return &Config{
		section:  section{path: file},
		Path:     file,
		Database: Database{section: section{path: "database"}, MaxConnections: 16, ConnectionLimit: 64},
		Runtime: Runtime{
			section:      section{path: "runtime"},
			CacheDir:     filepath.Join(filepath.Dir(file), ".inbox-cache"),
			DrainTimeout: 30 * time.Second,
			Log:          "text",
			LogLevel:     slog.LevelInfo,
		},
	}
}
