package command

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// completed is what a shell is offered behind words, without the descriptions.
func completed(t *testing.T, words ...string) []string {
	t.Helper()
	r := invoke("", append([]string{cobra.ShellCompNoDescRequestCmd}, words...)...)
	if r.code != exitDone {
		t.Fatalf("%q: exit code %d\n%s", words, r.code, r.stderr)
	}
	lines := strings.Split(strings.TrimSpace(r.stdout), "\n")
	return lines[:len(lines)-1] // the last is a number that says what the shell may add
}

// Tables and handlers are completed by inbox.toml, whatever else is wrong with it.
func TestCompletion(t *testing.T) {
	f := newFolder(t, testdb.Database{URL: "${NOT_SET}"}, jobs+"[tables.dead]\n[handlers.send]\ntable = \"jobs\"\ngroup = \"mails\"\n[handlers.all]\ntable = \"dead\"\ngroup = \"*\"\ntimeot = 1\n")
	path := filepath.Join(f.dir, "inbox.toml")
	tables, handlers := []string{"dead", "jobs"}, []string{"all", "send"}
	list := func(words ...string) []string { return append([]string{"-c", path}, words...) }
	seen := map[string]int{}
	for _, c := range Root().Commands() {
		for i, word := range strings.Fields(c.Use)[1:] {
			words := list(append([]string{c.Name()}, slices.Repeat([]string{"x"}, i)...)...)
			switch seen[word]++; word {
			case "TABLE":
				equal(t, c.Name(), completed(t, append(words, "")...), tables)
			case "HANDLER":
				equal(t, c.Name(), completed(t, append(words, "")...), handlers)
			case "LANGUAGE":
				equal(t, c.Name(), completed(t, append(words, "")...), languageNames())
			}
		}
	}
	if seen["TABLE"] < 2 || seen["HANDLER"] < 1 || seen["LANGUAGE"] != 1 {
		t.Errorf("commands take %v", seen)
	}
	equal(t, "a second argument", len(completed(t, list("enqueue", "jobs", "")...)), 0)
	equal(t, "group", completed(t, list("enqueue", "jobs", "--group", "")...), []string{"mails"})
	equal(t, "state", completed(t, list("peek", "jobs", "--state", "")...), []string{"due", "delayed", "in_work", "dead", "processed"})
	equal(t, "expect", completed(t, list("invoke", "send", "--expect", "")...), expectable())
	equal(t, "form", completed(t, list("bench", "--form", "")...), []string{"all", "lease", "row-lock", "advisory"})
	equal(t, "no file", completed(t, "-c", path+"x", "enqueue", ""), []string{})
	if r := invoke("", cobra.ShellCompRequestCmd, "-c", path, "invoke", ""); !strings.Contains(r.stdout, "send\ton table jobs\n") {
		t.Error(r.stdout)
	}
}

// Each shell has its script.
func TestCompletionScripts(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if r := invoke("", "completion", shell); r.code != exitDone || !strings.Contains(r.stdout, cobra.ShellCompRequestCmd) {
			t.Errorf("%s: exit code %d\n%s", shell, r.code, r.stderr)
		}
	}
}
