package config

import "reflect"

// Same reports whether two handlers, of two readings of a file, say the same in every key, with the tables that they
// name, wherever in the file they stand.
func Same(a, b *Handler) bool { return reflect.DeepEqual(a.placeless(), b.placeless()) }

// SameProcess reports whether [database] and [runtime] say the same.
func SameProcess(a, b *Config) bool {
	d, e := a.Database, b.Database
	d.section, e.section = section{}, section{}
	r, s := a.Runtime, b.Runtime
	r.section, s.section = section{}, section{}
	return reflect.DeepEqual(d, e) && reflect.DeepEqual(r, s)
}

// placeless is a copy that does not know where it was written.
func (h *Handler) placeless() *Handler {
	c := *h
	c.section, c.Line = section{}, 0
	c.Table = c.Table.placeless()
	if c.DeadLetter != nil {
		c.DeadLetter = &Target{Group: c.DeadLetter.Group, Table: c.DeadLetter.Table.placeless()}
	}
	c.Allow.Publish = nil
	for _, t := range h.Allow.Publish {
		c.Allow.Publish = append(c.Allow.Publish, t.placeless())
	}
	return &c
}

func (t *Table) placeless() *Table {
	if t == nil {
		return nil
	}
	c := *t
	c.section, c.Line = section{}, 0
	return &c
}
