package config

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
)

// node is a value of the file with the place it was written at.
type node struct {
	path   string
	pos    position
	scalar any // nil in a table and an array
	table  map[string]*node
	list   []*node
}

// newNode builds the tree of a decoded value. A value that the scanner has no position for stands where
// its parent stands.
func newNode(path string, value any, at map[string]position, parent position, depth int) *node {
	n := &node{path: path, pos: parent}
	if pos, ok := at[path]; ok {
		n.pos = pos
	}
	if depth > maxDepth {
		return n
	}
	switch v := value.(type) {
	case map[string]any:
		n.table = make(map[string]*node, len(v))
		for key, child := range v {
			n.table[key] = newNode(join(path, key), child, at, n.pos, depth+1)
		}
	case []any:
		n.list = make([]*node, len(v))
		for i, child := range v {
			n.list[i] = newNode(element(path, i), child, at, n.pos, depth+1)
		}
	case []map[string]any:
		n.list = make([]*node, len(v))
		for i, child := range v {
			n.list[i] = newNode(element(path, i), child, at, n.pos, depth+1)
		}
	default:
		n.scalar = v
	}
	return n
}

// merge lays own over base, table by table and key by key. Values keep the place they were written at.
func merge(base, own *node) *node {
	if base == nil || base.table == nil || own.table == nil {
		return own
	}
	merged := &node{path: own.path, pos: own.pos, table: maps.Clone(base.table)}
	for key, n := range own.table {
		merged.table[key] = merge(base.table[key], n)
	}
	return merged
}

// find returns the value at a dotted key of n, or nil. No key of inbox.toml holds a dot itself.
func (n *node) find(key string) *node {
	for part := range strings.SplitSeq(key, ".") {
		if n == nil {
			return nil
		}
		n = n.table[part]
	}
	return n
}

// nearest returns where a dotted key of n stands, or the innermost table around it.
func (n *node) nearest(key string) position {
	for part := range strings.SplitSeq(key, ".") {
		child := n.table[part]
		if child == nil {
			break
		}
		n = child
	}
	return n.pos
}

func (n *node) has(key string) bool { return n.find(key) != nil }

// owns tells whether the key was written in n itself and not in [defaults].
func (n *node) owns(key string) bool {
	at := n.find(key)
	return at != nil && at.path == n.at(key)
}

// at returns the path of a dotted key of n.
func (n *node) at(key string) string {
	if n.path == "" {
		return key
	}
	return n.path + "." + key
}

// names returns the keys of a table in the file's order.
func (n *node) names() []string {
	return slices.SortedFunc(maps.Keys(n.table), func(a, b string) int {
		return cmp.Or(cmp.Compare(n.table[a].pos.offset, n.table[b].pos.offset), cmp.Compare(a, b))
	})
}

// kind says in an error what n is.
func (n *node) kind() string {
	switch n.scalar.(type) {
	case string:
		return "text"
	case int64:
		return "a whole number"
	case float64:
		return "a number"
	case bool:
		return "true or false"
	case time.Time:
		return "a date"
	}
	if n.list != nil {
		return "an array"
	}
	return "a table"
}
