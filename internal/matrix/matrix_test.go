package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// folders are where the tests of the patterns are.
var folders = map[string]string{"forms": "../../forms", "host": "../../host", "e2e": "../e2e"}

// declared lists the tests of every folder as patterns have them: forms.TestClaimOrder.
func declared(t *testing.T) []string {
	t.Helper()
	var names []string
	for pkg, folder := range folders {
		files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range tree.Decls {
				if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
					names = append(names, pkg+"."+f.Name.Name)
				}
			}
		}
	}
	return names
}

// Every cell has tests that exist, or a reason.
func TestEveryCellIsDeclared(t *testing.T) {
	tests := declared(t)
	for _, b := range behaviours {
		for i, form := range formNames {
			c := b.forms[i]
			for _, d := range databases {
				if c.reason(form, d) == "" && len(c.tests) == 0 {
					t.Errorf("%s, %s, %s: neither a test nor a reason", b.name, form, titles[d])
				}
			}
			for _, pattern := range c.tests {
				pattern, _, _ = strings.Cut(pattern, "@")
				top, _, _ := strings.Cut(pattern, "/")
				expression := regexp.MustCompile("^(?:" + top + ")$")
				if !slices.ContainsFunc(tests, expression.MatchString) {
					t.Errorf("%s, %s: no test is called %s", b.name, form, top)
				}
			}
		}
	}
}

// The page has the rows and the cells of the table above, each with something in it. Whether today's run would
// say the same is not asked.
func TestThePageIsComplete(t *testing.T) {
	data, err := os.ReadFile("../../docs/matrix.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	for i, form := range formNames {
		_, section, found := strings.Cut(page, "\n## "+form+"\n")
		if !found {
			t.Fatalf("no section %q: run make matrix", form)
		}
		section, _, _ = strings.Cut(section, "\n## ")
		var names []string
		for line := range strings.Lines(section) {
			cells := strings.Split(strings.TrimSpace(line), "|")
			if len(cells) < 2 || strings.Contains(line, "---") || strings.TrimSpace(cells[1]) == "" {
				continue
			}
			names = append(names, strings.TrimSpace(cells[1]))
			if len(cells) != len(databases)+3 {
				t.Errorf("%s: %d cells, want %d", cells[1], len(cells)-3, len(databases))
			}
			for _, text := range cells[2 : len(cells)-1] {
				if strings.TrimSpace(text) == "" {
					t.Errorf("%s, %s: an empty cell", form, cells[1])
				}
			}
		}
		var want []string
		for _, b := range behaviours {
			want = append(want, b.name)
			for _, d := range databases {
				if reason := b.forms[i].reason(form, d); reason != "" && !strings.Contains(section, " "+reason+" |") {
					t.Errorf("%s, %s, %s: the page lacks the reason %q: run make matrix", b.name, form, titles[d], reason)
				}
			}
		}
		if !slices.Equal(names, want) {
			t.Errorf("%s has the rows %q, want %q: run make matrix", form, names, want)
		}
	}
}

// results are those of a run of two tests, one of which fails on one database.
const results = `
{"Action":"run","Package":"x/forms","Test":"TestA"}
not JSON
{"Action":"pass","Package":"x/forms","Test":"TestA/postgres/lease"}
{"Action":"fail","Package":"x/forms","Test":"TestA/mariadb/lease"}
{"Action":"skip","Package":"x/forms","Test":"TestA/sqlite/lease"}
{"Action":"fail","Package":"x/forms","Test":"TestA/mariadb"}
{"Action":"fail","Package":"x/forms","Test":"TestA"}
{"Action":"pass","Package":"x/host","Test":"TestPooler"}
{"Action":"pass","Package":"x/host"}
`

func TestCells(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.json")
	if err := os.WriteFile(path, []byte(results), 0o600); err != nil {
		t.Fatal(err)
	}
	r := newRecord()
	if err := r.read(path, nil); err != nil {
		t.Fatal(err)
	}
	if err := r.read(path, map[string]string{"mariadb": "mysql"}); err != nil {
		t.Fatal(err)
	}
	a := by(`forms.TestA/\w+/lease`, `host.TestPooler@postgres`)
	for _, c := range []struct {
		cell           cell
		form, database string
		want           string
		failed         bool
	}{
		{a, "Lease", "postgres", "✓ 2", false},
		{a, "Lease", "mariadb", "fails: forms.TestA", true},
		{a, "Lease", "mysql", "fails: forms.TestA", true},
		{a, "Lease", "sqlite", "no test ran", true},
		{a, "Row lock", "sqlite", "no row locks: refused", false},
		{a.except("why", "sqlite"), "Lease", "sqlite", "why", false},
		{none("all"), "Lease", "postgres", "all", false},
		{by(`forms.Test`), "Lease", "postgres", "no test ran", true},
	} {
		got, err := c.cell.text(r, c.form, c.database, true)
		if got != c.want || (err != nil) != c.failed {
			t.Errorf("%v in %s on %s: %q (%v), want %q", c.cell, c.form, c.database, got, err, c.want)
		}
	}
	if got, err := a.text(r, "Lease", "mysql", false); got != "not run" || err != nil {
		t.Errorf("without a run on MySQL: %q (%v)", got, err)
	}
	if err := newRecord().read(filepath.Join(t.TempDir(), "none.json"), nil); err == nil {
		t.Error("a file that is not there was read")
	}
}
