package config

import (
	"fmt"
	"strconv"
	"strings"
)

// reader decodes the value n into what it is bound to. Where the value is refused it reports why and
// leaves the default.
type reader func(p *parser, n *node)

// keys is what a table of the file may hold.
type keys []struct {
	name string
	read reader
}

// section reads the keys of the table n and reports those that it does not know.
func (p *parser) section(n *node, known keys) {
	if n.table == nil {
		p.fail(n, "must be a table, not "+n.kind(), "write ["+n.path+"] and its keys below")
		return
	}
	for _, name := range n.names() {
		child := n.table[name]
		if read := known.reader(name); read != nil {
			read(p, child)
		} else {
			p.fail(child, "unknown key", remedyForUnknown(child, name, known))
		}
	}
}

func (k keys) reader(name string) reader {
	for _, key := range k {
		if key.name == name {
			return key.read
		}
	}
	return nil
}

func table(known keys) reader {
	return func(p *parser, n *node) { p.section(n, known) }
}

// each reads a table whose keys are the operator's own names.
func each(read func(p *parser, name string, n *node)) reader {
	return func(p *parser, n *node) {
		if n.table == nil {
			p.fail(n, "must be a table, not "+n.kind(), "write ["+n.path+".NAME] and its keys below")
			return
		}
		for _, name := range n.names() {
			read(p, name, n.table[name])
		}
	}
}

// show is a value as an error may quote it: what an expansion touched is shown as the expansion.
func show(n *node) string {
	switch v := n.scalar.(type) {
	case nil:
		return n.kind()
	case string:
		if touched := expansions(v); touched != nil {
			return "the value of " + strings.Join(touched, " and ")
		}
		return strconv.Quote(v)
	default:
		return fmt.Sprint(v)
	}
}

// text returns the expanded text of n.
func (p *parser) text(n *node) (string, bool) {
	raw, ok := n.scalar.(string)
	if !ok {
		p.fail(n, "must be text, not "+n.kind(), "write it in double quotes")
		return "", false
	}
	text, fault := p.expand(raw)
	if fault != nil {
		p.fail(n, fault.what, fault.remedy)
		return "", false
	}
	return text, true
}

// literal returns the text of a number or a boolean that comes out of an expansion, which TOML can only
// write as text.
func (p *parser) literal(n *node, want, remedy string) (string, bool) {
	raw, ok := n.scalar.(string)
	if !ok || expansions(raw) == nil {
		p.fail(n, "must be "+want+", not "+n.kind(), remedy)
		return "", false
	}
	return p.text(n)
}

// complain reports what a value's own parser has against it.
func (p *parser) complain(n *node, f *fault) { p.fail(n, show(n)+" "+f.what, f.remedy) }

func quoteAll(values []string) string {
	quoted := make([]string, len(values))
	for i, v := range values {
		quoted[i] = strconv.Quote(v)
	}
	return strings.Join(quoted, ", ")
}
