package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzParse requires that no file panics, that a file is accepted or has problems on lines that it has,
// and that the scanner finds every key that the TOML parser finds.
func FuzzParse(f *testing.F) {
	for _, name := range []string{"example.toml", "mistakes.toml"} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(good))
	f.Add([]byte("[[a]]\nb = [{ c = '''x''' }, \"\"\"y\\\"\"\"\"]\n\"\\u0041\".b = 1979-05-27\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Parse("inbox.toml", data, func(name string) (string, bool) { return "7", name != "UNSET" })
		if (c == nil) != (err != nil) {
			t.Fatalf("configuration %v and error %v", c, err)
		}
		if problems, ok := err.(Problems); ok {
			lines := strings.Count(string(data), "\n") + 1
			for _, problem := range problems {
				if problem.Line > lines || problem.What == "" || strings.Contains(problem.Error(), "\n") {
					t.Errorf("%d lines: %v", lines, problem)
				}
			}
		}
		p := newParser("inbox.toml", nil)
		if root := p.tree(data); root != nil {
			checkPositions(t, root, positions(data), 0)
		}
	})
}
