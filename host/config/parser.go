package config

import (
	"errors"
	"fmt"
	"strings"

	"github.com/BurntSushi/toml"
)

// maxFile bounds a file: the TOML parser's stack grows with the depth of what it reads.
const maxFile = 1 << 20

// parser turns one file into a Config and collects what is wrong with it.
type parser struct {
	file     string
	lookup   func(string) (string, bool)
	schemes  []string // of the program's own databases
	root     *node
	found    []finding
	tables   []*tableDraft
	handlers []*handlerDraft
}

func newParser(file string, lookup func(string) (string, bool), schemes ...string) *parser {
	return &parser{file: file, lookup: lookup, schemes: schemes}
}

// parse reads every section, resolves the names between them and checks what keys say together. It
// returns nil where the file is no TOML.
func (p *parser) parse(data []byte) *Config {
	if p.root = p.tree(data); p.root == nil {
		return nil
	}
	c := newConfig(p.file)
	c.n, c.Database.n, c.Runtime.n = p.root, p.root.find("database"), p.root.find("runtime")
	p.section(p.root, keys{
		{"database", table(databaseKeys(&c.Database))},
		{"runtime", table(runtimeKeys(&c.Runtime))},
		{"tables", each(func(p *parser, name string, n *node) { p.readTable(c, name, n) })},
		{"defaults", table(handlerKeys(newHandler("", nil)))},
		{"handlers", each(func(p *parser, name string, n *node) {
			p.readHandler(c, name, merge(p.root.find("defaults"), n))
		})},
	})
	p.checkDatabase(c)
	p.checkHTTP(c)
	for _, t := range p.tables {
		p.checkTable(c, t)
	}
	p.checkTablesTogether()
	for _, h := range p.handlers {
		p.resolveHandler(c, h)
	}
	for _, h := range p.handlers {
		p.checkHandler(c, h)
	}
	p.checkHandlersTogether(c)
	return c
}

// tree parses the TOML. A file that is none is one problem.
func (p *parser) tree(data []byte) *node {
	whole := position{line: 0}
	if len(data) > maxFile {
		p.add(whole, "", fmt.Sprintf("larger than %d bytes", maxFile), "name the configuration file")
		return nil
	}
	var doc map[string]any
	if _, err := toml.Decode(string(data), &doc); err != nil {
		if e := (toml.ParseError{}); errors.As(err, &e) {
			p.add(position{line: max(e.Position.Line, 1)}, e.LastKey, "not TOML: "+oneLine(e.Message), "")
		} else {
			p.add(whole, "", "not TOML: "+oneLine(err.Error()), "save the file as UTF-8 text")
		}
		return nil
	}
	return newNode("", doc, positions(data), position{}, 0)
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
