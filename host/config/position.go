package config

import (
	"bytes"
	"fmt"

	"github.com/BurntSushi/toml"
)

// position is where a key stands.
type position struct {
	offset   int // bytes
	line     int // from 1
	explicit bool
}

// maxDepth bounds how deep values nest: no key of inbox.toml stands deeper, and a path's text grows
// with its depth.
const maxDepth = 16

// positions finds where each key of a TOML file stands, since BurntSushi/toml does not say. It expects a
// file that the parser accepts; of any other it finds what it can. An array's elements are keys too:
// a.files[0].
func positions(src []byte) map[string]position {
	s := &scanner{src: src, line: 1, found: map[string]position{}, arrays: map[string]int{}}
	s.src = bytes.TrimPrefix(s.src, []byte("\ufeff"))
	s.file()
	return s.found
}

// scanner walks TOML for its keys alone.
type scanner struct {
	src    []byte
	at     int
	line   int
	found  map[string]position
	arrays map[string]int // the elements so far of each array of tables
}

func (s *scanner) file() {
	table := ""
	for {
		s.blank()
		start := s.at
		switch s.peek() {
		case 0:
			return
		case '[':
			table = s.header()
		default:
			s.pair(table, 0)
		}
		if s.at == start {
			return
		}
	}
}

// header reads [a.b] or [[a.b]] and returns the path of the table it opens.
func (s *scanner) header() string {
	pos := s.here()
	s.next()
	array := s.peek() == '['
	if array {
		s.next()
	}
	parts := s.key()
	for s.peek() == ']' {
		s.next()
	}
	path := ""
	for i, part := range parts {
		path = join(path, part)
		last := i == len(parts)-1
		s.record(path, pos, last)
		switch {
		case last && array:
			s.arrays[path]++
			path = element(path, s.arrays[path]-1)
			s.record(path, pos, true)
		case s.arrays[path] > 0:
			path = element(path, s.arrays[path]-1)
		}
	}
	return path
}

// pair reads key = value in the table at path.
func (s *scanner) pair(path string, depth int) {
	pos := s.here()
	parts := s.key()
	for i, part := range parts {
		path = join(path, part)
		s.record(path, pos, i == len(parts)-1)
	}
	if s.peek() == '=' {
		s.next()
	}
	s.value(path, depth+len(parts))
}

// key reads a dotted key and the blanks around its parts.
func (s *scanner) key() []string {
	var parts []string
	for {
		s.spaces()
		start := s.at
		switch s.peek() {
		case '"', '\'':
			s.text()
			parts = append(parts, unquote(s.src[start:s.at]))
		default:
			for isBare(s.peek()) {
				s.next()
			}
			parts = append(parts, string(s.src[start:s.at]))
		}
		s.spaces()
		if s.peek() != '.' {
			return parts
		}
		s.next()
	}
}

// value passes over the value of the key at path and records the keys inside.
func (s *scanner) value(path string, depth int) {
	s.spaces()
	switch s.peek() {
	case '"', '\'':
		s.text()
	case '[':
		s.next()
		s.items(']', func(i int) {
			item := element(path, i)
			if depth < maxDepth {
				s.record(item, s.here(), true)
			} else {
				item = ""
			}
			s.value(item, depth+1)
		})
	case '{':
		s.next()
		s.items('}', func(int) { s.pair(path, depth) })
	default:
		for !bytes.ContainsRune([]byte(",]}#\n\x00"), rune(s.peek())) {
			s.next()
		}
	}
}

// items reads what stands between commas up to the closing byte.
func (s *scanner) items(closing byte, item func(int)) {
	for i := 0; ; i++ {
		s.blank()
		if c := s.peek(); c == closing || c == 0 {
			s.next()
			return
		}
		start := s.at
		item(i)
		s.blank()
		if s.peek() == ',' {
			s.next()
		}
		if s.at == start {
			return
		}
	}
}

// text passes over a string of any of the four kinds.
func (s *scanner) text() {
	quote := s.peek()
	mark := []byte{quote}
	if triple := bytes.Repeat(mark, 3); bytes.HasPrefix(s.src[s.at:], triple) {
		mark = triple
	}
	s.skip(len(mark))
	for s.at < len(s.src) && !bytes.HasPrefix(s.src[s.at:], mark) {
		if quote == '"' && s.peek() == '\\' {
			s.next()
		}
		s.next()
	}
	s.skip(len(mark))
	// A multi-line string may end in one or two quotes of its own.
	for i := 0; len(mark) == 3 && i < 2 && s.peek() == quote; i++ {
		s.next()
	}
}

func (s *scanner) record(path string, pos position, explicit bool) {
	if old, ok := s.found[path]; ok && (old.explicit || !explicit) {
		return
	}
	pos.explicit = explicit
	s.found[path] = pos
}

func (s *scanner) here() position { return position{offset: s.at, line: s.line} }

// peek returns the byte that comes next, 0 at the end. TOML allows no NUL.
func (s *scanner) peek() byte {
	if s.at < len(s.src) {
		return s.src[s.at]
	}
	return 0
}

func (s *scanner) next() {
	if s.at < len(s.src) {
		if s.src[s.at] == '\n' {
			s.line++
		}
		s.at++
	}
}

func (s *scanner) skip(n int) {
	for range n {
		s.next()
	}
}

func (s *scanner) spaces() {
	for s.peek() == ' ' || s.peek() == '\t' {
		s.next()
	}
}

// blank passes over spaces, ends of lines and comments.
func (s *scanner) blank() {
	for {
		switch s.peek() {
		case ' ', '\t', '\r', '\n':
			s.next()
		case '#':
			for s.peek() != '\n' && s.peek() != 0 {
				s.next()
			}
		default:
			return
		}
	}
}

func isBare(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}

// unquote returns the key that a quoted key names. The parser itself reads its escapes.
func unquote(quoted []byte) string {
	var doc map[string]any
	if _, err := toml.Decode(string(quoted)+" = 0", &doc); err == nil {
		for key := range doc {
			return key
		}
	}
	return string(quoted)
}

// join returns the path of a key in the table at path, as TOML writes it.
func join(path, key string) string {
	key = toml.Key{key}.String()
	if path == "" {
		return key
	}
	return path + "." + key
}

// element returns the path of an array's element.
func element(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }
