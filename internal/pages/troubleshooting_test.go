package pages

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// begin are the functions that a start and a reload are, from the reading of inbox.toml to the first claims, and the one
// that says why a service is not ready.
var begin = []string{"load", "Load", "Open", "Check", "launchAll", "succeed", "Connect", "Prepare", "SharesSessions", "CheckVersion", "NewInstance", "Unready"}

// beyond are where a start is over, or where something else begins that is no part of it: what is done with rows, with
// statements of guests and with calls, other commands, and the ends of things.
var beyond = []string{
	"launch", "run", "Run", "Reload", "Main", "root", "operate", "confirm", "exactly",
	"enqueue", "invoke", "new", "bench", "schema", "stats", "peek", "redrive", "purge", "cancel", "pause", "resume", "apply",
	"message", "source", "lines", "headersOf", "payloadLine", "envelopeLine",
	"Claim", "Settle", "SettleAndClaim", "Extend", "Release", "Return", "End", "Waiting", "Write", "WriteIn", "Read", "Begin", "BeginWork", "begin",
	"candidate", "probe", "truth", "unlockRow", "unsettled", "changeGroup", "missed", "shape", "parseID", "set", "become", "keep", "revert",
	"finishMany", "released", "unlockListed", "washKeeper", "group", "transact", "bytesOf", "columns", "value", "retain", "failed",
	"giveBack", "keeper", "answered", "closeForms", "forms.read", "dialect/store.fail", "GuestRules.Check", "dialect.skip", "dialect.quoted", "dialect/store.JSON", "host.write", "Instance.start", "GuestArguments", "dialect.dollars", "dialect.word",
	"Enqueue", "Invoke", "ParseMessage", "host.check", "report", "Handle", "HandleBatch", "admit", "Listen", "kill", "together", "Close",
}

// Every text that can say why the program does not start has an entry on the page, and every entry is such a text.
func TestEveryErrorOfAStartIsOnThePage(t *testing.T) {
	s := readSource(t)
	at := map[string]string{}
	for _, f := range s.reach(begin, beyond) {
		maps.Copy(at, s.texts(f))
	}
	entries := entriesOf(page(t, "docs/troubleshooting.md"))
	for _, text := range sortedKeys(at) {
		if !slices.Contains(entries, text) {
			t.Errorf("%s: the page has no entry for\n%s", at[text], text)
		}
	}
	for _, entry := range entries {
		if at[entry] == "" {
			t.Errorf("no start says this any more: %s", entry)
		}
	}
}

var blocks = regexp.MustCompile("(?ms)^```text\n(.*?)^```")

// entriesOf are the lines of a page's blocks of texts.
func entriesOf(text string) (entries []string) {
	for _, block := range blocks.FindAllStringSubmatch(text, -1) {
		for line := range strings.Lines(block[1]) {
			if line = strings.TrimSpace(line); line != "" {
				entries = append(entries, line)
			}
		}
	}
	return entries
}
