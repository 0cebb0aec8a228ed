package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
)

func text(dst *string) reader {
	return func(p *parser, n *node) {
		if s, ok := p.text(n); ok {
			*dst = s
		}
	}
}

// name reads a text that names something: not empty, no control characters.
func name(dst *string) reader {
	return func(p *parser, n *node) {
		if s, ok := p.name(n); ok {
			*dst = s
		}
	}
}

func (p *parser) name(n *node) (string, bool) {
	s, ok := p.text(n)
	switch {
	case !ok:
		return "", false
	case s == "":
		p.fail(n, "must not be empty", "name it, or leave the key out")
		return "", false
	case strings.ContainsFunc(s, unicode.IsControl):
		p.fail(n, "holds a control character", "write the name without it")
		return "", false
	}
	return s, true
}

// nameList reads an array of names that differ.
func nameList(dst *[]string) reader {
	return func(p *parser, n *node) {
		if n.list == nil {
			p.fail(n, "must be an array, not "+n.kind(), `write ["a", "b"]`)
			return
		}
		names, seen := []string{}, map[string]bool{}
		for _, item := range n.list {
			s, ok := p.name(item)
			if ok && seen[s] {
				p.fail(item, "names "+show(item)+" twice", "remove one")
			}
			seen[s] = true
			names = append(names, s)
		}
		*dst = names
	}
}

// names reads one name or an array of them.
func names(dst *[]string) reader {
	return func(p *parser, n *node) {
		switch {
		case n.list == nil:
			if s, ok := p.name(n); ok {
				*dst = []string{s}
			}
		case len(n.list) == 0:
			p.fail(n, "must not be empty", "name at least one")
		default:
			nameList(dst)(p, n)
		}
	}
}

// filePath reads a path that starts at the directory of the file.
func filePath(dst *string) reader {
	return func(p *parser, n *node) {
		if s, ok := p.name(n); ok {
			*dst = p.resolve(s)
		}
	}
}

// optionalPath takes an empty text for none.
func optionalPath(dst *string) reader {
	return func(p *parser, n *node) {
		if s, ok := n.scalar.(string); ok && s == "" {
			*dst = ""
			return
		}
		filePath(dst)(p, n)
	}
}

func boolean(dst *bool) reader {
	return func(p *parser, n *node) {
		if b, ok := n.scalar.(bool); ok {
			*dst = b
			return
		}
		s, ok := p.literal(n, "true or false", "write true or false without quotes")
		if !ok {
			return
		}
		if s != "true" && s != "false" {
			p.complain(n, &fault{"is neither true nor false", "give it one of the two"})
			return
		}
		*dst = s == "true"
	}
}

func number(dst *int, low, high int) reader {
	return func(p *parser, n *node) {
		i, ok := n.scalar.(int64)
		if !ok {
			s, ok := p.literal(n, "a whole number", "write it without quotes and without a fraction")
			if !ok {
				return
			}
			var err error
			if i, err = strconv.ParseInt(s, 10, 64); err != nil {
				p.complain(n, &fault{"is no whole number", fmt.Sprintf("give it one from %d to %d", low, high)})
				return
			}
		}
		if i < int64(low) || i > int64(high) {
			p.complain(n, &fault{"is out of range", fmt.Sprintf("write a number from %d to %d", low, high)})
			return
		}
		*dst = int(i)
	}
}

func fraction(dst *float64, low, high float64) reader {
	return func(p *parser, n *node) {
		f, ok := n.scalar.(float64)
		if i, whole := n.scalar.(int64); whole {
			f, ok = float64(i), true
		}
		if !ok {
			s, ok := p.literal(n, "a number", "write it without quotes")
			if !ok {
				return
			}
			var err error
			if f, err = strconv.ParseFloat(s, 64); err != nil {
				p.complain(n, &fault{"is no number", fmt.Sprintf("give it one from %v to %v", low, high)})
				return
			}
		}
		if math.IsNaN(f) || f < low || f > high {
			p.complain(n, &fault{"is out of range", fmt.Sprintf("write a number from %v to %v", low, high)})
			return
		}
		*dst = f
	}
}

// duration reads a duration of at least low.
func duration(dst *time.Duration, low time.Duration) reader {
	return func(p *parser, n *node) {
		if _, ok := n.scalar.(string); !ok {
			p.fail(n, "must be a duration, not "+n.kind(), `write a number and its unit as text: "30s"`)
			return
		}
		s, ok := p.text(n)
		if !ok {
			return
		}
		d, fault := parseDuration(s)
		if fault == nil && d < low {
			fault = tooShort(low)
		}
		if fault != nil {
			p.complain(n, fault)
			return
		}
		*dst = d
	}
}

func tooShort(low time.Duration) *fault {
	if low == 0 {
		return &fault{"is negative", "write a duration of 0s or more"}
	}
	return &fault{"is too short", fmt.Sprintf("write a duration of %s or more", low)}
}

// size reads a number of bytes.
func size(dst *int64, low, high int64) reader {
	return func(p *parser, n *node) {
		bytes, ok := n.scalar.(int64)
		if !ok {
			s, ok := p.text(n)
			if !ok {
				return
			}
			var fault *fault
			if bytes, fault = parseSize(s); fault != nil {
				p.complain(n, fault)
				return
			}
		}
		if bytes < low || bytes > high {
			p.complain(n, &fault{"is out of range", fmt.Sprintf("write a size from %d to %d bytes", low, high)})
			return
		}
		*dst = bytes
	}
}

func oneOf(dst *string, values ...string) reader {
	return func(p *parser, n *node) {
		s, ok := p.text(n)
		if !ok {
			return
		}
		for _, value := range values {
			if s == value {
				*dst = s
				return
			}
		}
		p.complain(n, &fault{"is not a choice here", "write one of " + quoteAll(values)})
	}
}
