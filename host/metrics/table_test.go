package metrics

import (
	"flag"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table of metrics into docs/metrics.md")

const page = "../../docs/metrics.md"

// The table in the documentation is the code's.
func TestTheTableIsDocumented(t *testing.T) {
	const begin, end = "<!-- the table is written by go test ./host/metrics -update -->\n", "<!-- end of the table -->\n"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s lacks the lines between which the table stands", page)
	}
	want := before + begin + "\n" + Table() + "\n" + end + after
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want != string(text) {
		t.Errorf("%s is out of date: run go test ./host/metrics -update", page)
	}
}
