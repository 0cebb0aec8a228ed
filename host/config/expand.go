package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"unicode/utf8"
)

// maxSecretFile bounds what ${file:..} reads, so that a wrong path cannot fill the memory.
const maxSecretFile = 64 << 10

var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// expand replaces ${VAR}, ${VAR:-default}, ${file:path} and $$ in the text of a value. A dollar before
// anything else is a dollar, so that SQL keeps its $1.
func (p *parser) expand(raw string) (string, *fault) {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(raw, "$")
		b.WriteString(before)
		switch {
		case !found:
			return b.String(), nil
		case strings.HasPrefix(after, "$"):
			b.WriteByte('$')
			raw = after[1:]
		case strings.HasPrefix(after, "{"):
			inside, rest, closed := strings.Cut(after[1:], "}")
			if !closed {
				return "", &fault{`holds "${" without its "}"`, `close it, or write "$${" for the two characters`}
			}
			value, fault := p.replacement(inside)
			if fault != nil {
				return "", fault
			}
			b.WriteString(value)
			raw = rest
		default:
			b.WriteByte('$')
			raw = after
		}
	}
}

// replacement returns what stands for ${inside}.
func (p *parser) replacement(inside string) (string, *fault) {
	if path, ok := strings.CutPrefix(inside, "file:"); ok {
		return p.secretFile(path)
	}
	name, standIn, hasDefault := strings.Cut(inside, ":-")
	switch {
	case !variable.MatchString(name):
		return "", &fault{fmt.Sprintf("holds %q, which names no variable", "${"+name+"}"), "write ${NAME}, ${NAME:-default} or ${file:path}"}
	case strings.Contains(standIn, "${"):
		return "", &fault{fmt.Sprintf("nests an expansion in the default of %s", name), "write the default as plain text"}
	}
	value, ok := p.lookup(name)
	switch {
	case hasDefault && value == "":
		return standIn, nil
	case !ok:
		return "", &fault{fmt.Sprintf("needs the variable %s, which is not set", name), fmt.Sprintf("set it, or write ${%s:-default}", name)}
	}
	return value, nil
}

// secretFile returns the text of a file without the end of its last line.
func (p *parser) secretFile(path string) (string, *fault) {
	unreadable := func(why string) (string, *fault) {
		return "", &fault{fmt.Sprintf("needs the file %q: %s", path, why), "name a readable text file; a relative path starts at the directory of " + filepath.Base(p.file)}
	}
	full := p.resolve(path)
	// Only a regular file is opened: a pipe or a terminal would hold the start.
	if info, err := os.Stat(full); err != nil {
		return unreadable(reason(err))
	} else if !info.Mode().IsRegular() {
		return unreadable("not a regular file")
	}
	f, err := os.Open(full)
	if err != nil {
		return unreadable(reason(err))
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSecretFile+1))
	switch {
	case err != nil:
		return unreadable(reason(err))
	case len(data) > maxSecretFile:
		return unreadable(fmt.Sprintf("larger than %d bytes", maxSecretFile))
	case !utf8.Valid(data):
		return unreadable("not UTF-8 text")
	}
	return strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r"), nil
}

// reason is the cause of a file error without the path, which the message has already.
func reason(err error) string {
	if e := (*fs.PathError)(nil); errors.As(err, &e) {
		return e.Err.Error()
	}
	return err.Error()
}

// expansions returns the ${..} of a text as they may be shown: without their defaults.
func expansions(raw string) []string {
	var names []string
	for {
		_, after, found := strings.Cut(raw, "$")
		if !found {
			return names
		}
		raw = after
		switch {
		case strings.HasPrefix(after, "$"):
			raw = after[1:]
		case strings.HasPrefix(after, "{"):
			inside, rest, _ := strings.Cut(after[1:], "}")
			name, _, _ := strings.Cut(inside, ":-")
			names = append(names, "${"+name+"}")
			raw = rest
		}
	}
}

// resolve returns a path of the file as the process can open it.
func (p *parser) resolve(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(filepath.Dir(p.file), path)
}
