package pages

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// page reads a page of the repository.
func page(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../..", path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// docs are the pages of the folder docs.
func docs(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for i := range files {
		files[i] = "docs/" + filepath.Base(files[i])
	}
	return files
}

var (
	named = regexp.MustCompile("`([a-z0-9/-]+)` (Test\\w+(?:,\\s+Test\\w+)*)")
	code  = regexp.MustCompile("`[^`]*`")
	tests = regexp.MustCompile(`(?m)^func (Test\w+)\(`)
)

// Every test that a page names is in the package that it names.
func TestNamedTestsAreThere(t *testing.T) {
	known := map[string][]string{}
	testsOf := func(pkg string) []string {
		if known[pkg] != nil {
			return known[pkg]
		}
		files, err := filepath.Glob(filepath.Join("../..", pkg, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		list := []string{}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range tests.FindAllStringSubmatch(string(text), -1) {
				list = append(list, m[1])
			}
		}
		known[pkg] = list
		return list
	}
	found := 0
	for _, path := range append(docs(t), "README.md") {
		text := page(t, path)
		for _, m := range named.FindAllStringSubmatch(text, -1) {
			for name := range strings.SplitSeq(m[2], ",") {
				found++
				if name = strings.TrimSpace(name); !slices.Contains(testsOf(m[1]), name) {
					t.Errorf("%s: package %s has no %s", path, m[1], name)
				}
			}
		}
		// A name that stands behind no package would be checked by nobody. In a command it is one of many.
		loose := code.ReplaceAllString(named.ReplaceAllString(text, ""), "")
		if m := regexp.MustCompile(`\bTest[A-Z]\w+`).FindString(loose); m != "" {
			t.Errorf("%s: %s stands behind no package", path, m)
		}
	}
	if found < 100 {
		t.Errorf("the pages name %d tests", found)
	}
}

var link = regexp.MustCompile(`\]\(([^)#]*)(#[^)]*)?\)`)

// Every link within the repository leads somewhere, and the index leads to every page.
func TestLinksLeadSomewhere(t *testing.T) {
	var fromIndex []string
	for _, path := range append(docs(t), "README.md", "CONTRIBUTING.md") {
		for _, m := range link.FindAllStringSubmatch(page(t, path), -1) {
			if m[1] == "" || strings.Contains(m[1], "://") {
				continue
			}
			target := filepath.Join(filepath.Dir(path), m[1])
			if _, err := os.Stat(filepath.Join("../..", target)); err != nil {
				t.Errorf("%s: %s leads nowhere", path, m[1])
			}
			if path == "docs/README.md" {
				fromIndex = append(fromIndex, filepath.ToSlash(target))
			}
		}
	}
	for _, path := range docs(t) {
		if path != "docs/README.md" && !slices.Contains(fromIndex, path) {
			t.Errorf("docs/README.md does not lead to %s", path)
		}
	}
}
