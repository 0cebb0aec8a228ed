package main

import (
	"fmt"
	"slices"
	"strings"
)

// databases are the columns, by the names that tests have for them.
var databases = []string{"postgres", "mariadb", "mysql", "sqlite"}

var titles = map[string]string{"postgres": "PostgreSQL", "mariadb": "MariaDB", "mysql": "MySQL", "sqlite": "SQLite"}

const head = `# What is tested, and where

Written by ` + "`make matrix`" + ` from the results of the tests; what a behaviour's tests are is declared in
` + "`internal/matrix/behaviours.go`" + `. A cell counts the tests of the behaviour that passed in this form on
this database. A cell without tests says why.
`

const without = `
MySQL was not in this run: its cells say "not run". The tests that have a cell under MariaDB are the same for
it; ` + "`make test-versions`" + ` runs them where a server can be had.
`

// render is the page, and what keeps it from being complete.
func render(r *record, mysql bool) (string, []error) {
	var page strings.Builder
	var failures []error
	page.WriteString(head)
	if !mysql {
		page.WriteString(without)
	}
	for i, form := range formNames {
		fmt.Fprintf(&page, "\n## %s\n\n| |", form)
		for _, d := range databases {
			fmt.Fprintf(&page, " %s |", titles[d])
		}
		page.WriteString("\n| --- |" + strings.Repeat(" --- |", len(databases)) + "\n")
		for _, b := range behaviours {
			fmt.Fprintf(&page, "| %s |", b.name)
			for _, d := range databases {
				text, err := b.forms[i].text(r, form, d, mysql)
				if err != nil {
					failures = append(failures, fmt.Errorf("%s, %s, %s: %w", b.name, form, titles[d], err))
				}
				fmt.Fprintf(&page, " %s |", text)
			}
			page.WriteString("\n")
		}
	}
	return page.String(), failures
}

// text is one cell.
func (c cell) text(r *record, form, database string, mysql bool) (string, error) {
	if reason := c.reason(form, database); reason != "" {
		return reason, nil
	}
	if database == "mysql" && !mysql {
		return "not run", nil
	}
	var passed, failed []string
	for _, o := range r.find(c.tests, database) {
		name, _, _ := strings.Cut(o.name, "/")
		switch o.action {
		case "pass":
			passed = append(passed, o.name)
		case "fail":
			if !slices.Contains(failed, name) {
				failed = append(failed, name)
			}
		}
	}
	switch {
	case len(failed) > 0:
		return "fails: " + strings.Join(failed, ", "), fmt.Errorf("%v failed", failed)
	case len(passed) == 0:
		return "no test ran", fmt.Errorf("none of %v ran: give the cell a reason, or correct the pattern", c.tests)
	default:
		return fmt.Sprintf("✓ %d", len(passed)), nil
	}
}
