package config

import (
	"strings"
	"testing"
)

// A program that brings a database takes its URLs, prints nothing of them, and lists it beside the
// others.
func TestURLOfAnOwnDatabase(t *testing.T) {
	parse := func(url string, schemes ...string) (*Config, error) {
		return Parse("inbox.toml", []byte("[database]\nurl = \""+url+"\"\n"), func(string) (string, bool) { return "", false }, schemes...)
	}
	const url = "sqlserver://sa:s3cr3t@localhost?database=inbox"
	c, err := parse(url, "sqlserver", "cockroachdb")
	if err != nil || c.Database.URL.Reveal() != url || strings.Contains(c.Database.URL.String(), "s3cr3t") {
		t.Errorf("%v: %v", c, err)
	}
	for text, want := range map[string]string{
		"oracle://localhost/inbox": "not supported; start the URL with postgres://, mysql://, mariadb://, sqlite:, sqlserver: or cockroachdb:",
		"Server=localhost":         "is no URL",
	} {
		if _, err := parse(text, "sqlserver", "cockroachdb"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := parse(url); err == nil || !strings.Contains(err.Error(), "start the URL with postgres://, mysql://, mariadb:// or sqlite:") {
		t.Error(err)
	}
}
