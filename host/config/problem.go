package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one thing that is wrong with a file. Its texts never hold a value that an expansion
// produced, a URL, or a value of [handlers.*.config].
type Problem struct {
	File   string
	Line   int    // from 1; 0 where the file as a whole is meant
	Key    string // the key path, as TOML writes it; may be empty for a syntax error
	What   string // what is wrong
	Remedy string // what to do; may be empty
}

// Error is the problem on one line: inbox.toml:12: handlers.a.timeuot: unknown key; did you mean "timeout"?
func (p Problem) Error() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d", p.Line)
	}
	for _, part := range []string{p.Key, p.What} {
		if part != "" {
			b.WriteString(": " + part)
		}
	}
	if p.Remedy != "" {
		b.WriteString("; " + p.Remedy)
	}
	return b.String()
}

// Problems is every problem of a file, in the file's order.
type Problems []Problem

// Error is the problems, one a line.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// finding is a problem and the place that orders it.
type finding struct {
	Problem
	offset int
}

// fault is what a value's own parser has against it. The value itself is shown by who knows whether it
// may be; what continues a sentence that begins with it.
type fault struct{ what, remedy string }

// fail reports a problem with the value n, under the key it was written at.
func (p *parser) fail(n *node, what, remedy string) {
	p.add(n.pos, n.path, what, remedy)
}

// refuse reports a problem with a key of n that shows only beside other keys. The key may be dotted and
// may be absent, which its table answers for; a value that came from [defaults] is reported where it stands.
func (p *parser) refuse(n *node, key, what, remedy string) {
	if n.has(key) && !n.owns(key) {
		what += " (set in [defaults])"
	}
	p.add(n.nearest(key), n.at(key), what, remedy)
}

// add keeps a problem unless it is known already: a value of [defaults] is read once a handler.
func (p *parser) add(pos position, key, what, remedy string) {
	f := finding{Problem{p.file, pos.line, key, what, remedy}, pos.offset}
	if !slices.Contains(p.found, f) {
		p.found = append(p.found, f)
	}
}

// blamed tells whether the key has a problem already.
func (p *parser) blamed(key string) bool {
	return slices.ContainsFunc(p.found, func(f finding) bool { return f.Key == key })
}

// result is the problems in the file's order.
func (p *parser) result() Problems {
	slices.SortStableFunc(p.found, func(a, b finding) int { return cmp.Compare(a.offset, b.offset) })
	ps := make(Problems, len(p.found))
	for i, f := range p.found {
		ps[i] = f.Problem
	}
	return ps
}
