package config

import (
	"strings"
	"testing"
)

// A handler is the same wherever it stands in the file, and another one with any key of its own or of a table that it
// names.
func TestSame(t *testing.T) {
	const text = `[database]
url = "postgres://app@db/x"
max_connections = 5
[tables.jobs]
id = "id"
group = "name"
payload = "payload"
[tables.dead]
id = "id"
payload = "payload"
[tables.mails]
id = "id"
payload = "payload"
[handlers.a]
module = "a.wasm"
table = "jobs"
dead_letter = "dead"
allow = { publish = ["mails"], env = ["TZ"] }
config = { key = "${KEY}" }
`
	read := func(text, key string) *Config {
		t.Helper()
		c, err := Parse("inbox.toml", []byte(text), func(name string) (string, bool) { return key, name == "KEY" })
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	first := read(text, "1")
	for name, c := range map[string]struct {
		text, key     string
		same, process bool
	}{
		"itself":                   {text, "1", true, true},
		"moved":                    {"# a comment\n\n" + text + "[handlers.b]\nmodule = \"b.wasm\"\ntable = \"mails\"\n", "1", true, true},
		"a secret":                 {text, "2", false, true},
		"a key":                    {text + "[handlers.a.backoff]\ninitial = \"2s\"\n", "1", false, true},
		"its table":                {strings.Replace(text, `group = "name"`, "group = \"name\"\nretry_after = \"r\"", 1), "1", false, true},
		"its dead letter table":    {strings.Replace(text, "[tables.dead]\nid = \"id\"", "[tables.dead]\nid = \"no\"", 1), "1", false, true},
		"a table it publishes to":  {strings.Replace(text, "[tables.mails]\nid = \"id\"", "[tables.mails]\nid = \"no\"", 1), "1", false, true},
		"what it may reach":        {strings.Replace(text, `"TZ"`, `"TZ", "LANG"`, 1), "1", false, true},
		"a key of [database]":      {strings.Replace(text, "= 5", "= 6", 1), "1", true, false},
		"a section of its runtime": {text + "[runtime]\ndrain_timeout = \"1s\"\n", "1", true, false},
	} {
		second := read(c.text, c.key)
		if got := Same(first.Handlers[0], second.Handlers[0]); got != c.same {
			t.Errorf("%s: the handlers are the same: %v", name, got)
		}
		if got := SameProcess(first, second); got != c.process {
			t.Errorf("%s: the process is the same: %v", name, got)
		}
	}
}
