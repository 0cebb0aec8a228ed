package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
)

// event is a line of `go test -json`.
type event struct {
	Action, Package, Test string
}

// outcome is how one test or subtest without subtests of its own ended.
type outcome struct {
	name     string // of the package's folder, a dot, and the test's
	database string // empty where no part of the name is a database's
	action   string
}

// record is the outcomes of all runs.
type record struct{ outcomes []outcome }

func newRecord() *record { return &record{} }

// read adds a run; renamed gives the databases other names. A run of one database alone adds that.
func (r *record) read(path string, renamed map[string]string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	lines := bufio.NewReader(file)
	ended := map[string]string{}
	var order []string
	parents := map[string]bool{}
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		var e event
		if json.Unmarshal(line, &e) != nil || e.Test == "" {
			continue // what a program wrote beside its results
		}
		if !slices.Contains([]string{"pass", "fail", "skip"}, e.Action) {
			continue
		}
		name := e.Package[strings.LastIndex(e.Package, "/")+1:] + "." + e.Test
		if ended[name] == "" {
			order = append(order, name)
		}
		ended[name] = e.Action // of a test that was run again, the last
		if i := strings.LastIndex(name, "/"); i >= 0 {
			parents[name[:i]] = true
		}
	}
	if len(order) == 0 {
		return fmt.Errorf("%s holds no results of tests", path)
	}
	for _, name := range order {
		if parents[name] {
			continue
		}
		o := outcome{name: name, action: ended[name]}
		for _, part := range strings.Split(name, "/")[1:] {
			if slices.Contains(databases, part) {
				o.database = part
				break
			}
		}
		if renamed != nil {
			if o.database = renamed[o.database]; o.database == "" {
				continue
			}
		}
		r.outcomes = append(r.outcomes, o)
	}
	return nil
}

// find lists the outcomes that belong to a cell. A pattern matches a whole test's name, or the start of it up
// to a slash; one that ends in @ and a database takes tests whose names have none for that database's.
func (r *record) find(patterns []string, database string) []outcome {
	var found []outcome
	for _, pattern := range patterns {
		pattern, only, fixed := strings.Cut(pattern, "@")
		if fixed && only != database {
			continue
		}
		expression := regexp.MustCompile(`^(?:` + pattern + `)(/|$)`)
		for _, o := range r.outcomes {
			if (o.database == database || fixed && o.database == "") && expression.MatchString(o.name) {
				found = append(found, o)
			}
		}
	}
	return found
}
