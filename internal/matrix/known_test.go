package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestKnownFailuresHaveTheirTests: every test that the page names is there.
func TestKnownFailuresHaveTheirTests(t *testing.T) {
	page, err := os.ReadFile("../../docs/known-failures.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(strings.Trim(line, "|\n "), " | ")
		if len(cells) != 3 || !strings.Contains(cells[0], "#") {
			continue
		}
		rows++
		named := regexp.MustCompile("`([a-z0-9/]+)` (Test\\w+(?:, Test\\w+)*)").FindStringSubmatch(cells[2])
		if named == nil {
			t.Errorf("%s: names no test: %s", cells[0], cells[2])
			continue
		}
		source := testsOf(t, named[1])
		for _, name := range strings.Split(named[2], ", ") {
			if !strings.Contains(source, "func "+name+"(t *testing.T)") {
				t.Errorf("%s: package %s has no %s", cells[0], named[1], name)
			}
		}
	}
	if rows < 30 {
		t.Errorf("the page has %d rows", rows)
	}
}

func testsOf(t *testing.T, pkg string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("../..", filepath.FromSlash(pkg), "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}
