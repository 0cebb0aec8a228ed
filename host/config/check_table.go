package config

import (
	"fmt"
	"slices"
	"strings"
)

// levels are the isolation levels that each database keeps.
var levels = map[string][]string{
	postgres: {"read_committed", "repeatable_read", "serializable"},
	mysql:    {"read_uncommitted", "read_committed", "repeatable_read", "serializable"},
}

// checkTable refuses keys of a table that contradict each other or its database. It asks for presence
// and not for values: a key whose own value was refused is there all the same.
func (p *parser) checkTable(c *Config, t *tableDraft) {
	if t.n.table == nil {
		return
	}
	if !t.n.has("id") {
		p.refuse(t.n, "id", "is required", `name the column that identifies a row, or the columns: id = ["tenant", "no"]`)
	}
	if strings.Contains(t.Name, ".") && !t.n.has("schema") {
		p.refuse(t.n, "name", "holds a dot and the table has no schema", `write the schema apart: schema = "app"`)
	}
	p.checkRoles(t)
	p.checkForm(c, t)
	p.checkTransaction(c, t)
	if t.n.has("columns") && t.n.has("payload") {
		p.refuse(t.n, "columns", "is for row mode, and the table has a payload", "remove columns or payload")
	}
	if t.Retain > 0 && !t.n.has("processed_at") {
		p.refuse(t.n, "retain", "keeps finished rows, and the table deletes them", "give the table a processed_at column, or remove retain")
	}
}

// checkRoles refuses a column that plays two roles.
func (p *parser) checkRoles(t *tableDraft) {
	playing := map[string]string{}
	for _, key := range t.n.names() {
		if key != "columns" && !slices.Contains(roles, key) {
			continue
		}
		columns := []*node{t.n.table[key]}
		if list := columns[0].list; list != nil {
			columns = list
		}
		for _, column := range columns {
			raw, _ := column.scalar.(string)
			name, fault := p.expand(raw)
			if name == "" || fault != nil {
				continue
			}
			first, taken := playing[name]
			switch {
			case !taken:
				playing[name] = key
			case first == key:
				// A list that names a column twice says so itself.
			case first == "columns" || key == "columns":
				p.fail(column, fmt.Sprintf("column %s stands in columns and plays a role", show(column)), "list in columns those without a role")
			default:
				p.fail(column, fmt.Sprintf("column %s plays the role %s already", show(column), first), "give each role a column of its own")
			}
		}
	}
}

// checkForm refuses what the row lock, the lease and the advisory form do not carry.
func (p *parser) checkForm(c *Config, t *tableDraft) {
	lease, advisory := t.n.has("locked_until"), t.n.has("advisory_lock")
	if lease && advisory {
		p.refuse(t.n, "advisory_lock", "excludes locked_until: a table holds its rows by a lease or by a lock", "remove one of the two")
	}
	if !lease && !advisory && c.Database.URL.engine() == sqlite {
		p.refuse(t.n, "locked_until", "is missing: SQLite has no row locks", `take the lease form with locked_until = "locked_until", or the advisory form with advisory_lock = "`+t.Key+`-{id}"`)
	}
	for _, pair := range [][2]string{{"lock", "unlock"}, {"unlock", "lock"}} {
		key, other := pair[0], pair[1]
		switch {
		case !t.n.has(key):
		case !advisory:
			p.refuse(t.n, key, "is for the advisory form, and the table has no advisory_lock", "add advisory_lock, or remove "+key)
		case !t.n.has(other):
			p.refuse(t.n, key, "stands without "+other, "write both or neither")
		}
	}
	if t.FIFO && advisory {
		p.refuse(t.n, "fifo", "cannot go with advisory_lock, whose key keeps the order", "remove fifo and put the group's column into the key: "+t.Key+"-{COLUMN}")
	}
	if t.FIFO && !t.n.has("group") {
		p.refuse(t.n, "fifo", "orders the rows of a group, and the table has no group", "name the group's column: group = \"..\"")
	}
	if t.Clock == "database" && lease {
		p.refuse(t.n, "clock", `cannot be "database" with locked_until: the lease's end is computed on the host`, `remove clock, or write clock = "system"`)
	}
}

// checkTransaction refuses transaction settings that the database does not keep.
func (p *parser) checkTransaction(c *Config, t *tableDraft) {
	engine := c.Database.URL.engine()
	kept := levels[engine]
	switch {
	case t.Isolation == "" || engine == "":
	case engine == sqlite:
		p.refuse(t.n, "isolation", "is not a setting of SQLite", `write mode = "deferred", "immediate" or "exclusive"`)
	case !slices.Contains(kept, t.Isolation):
		p.refuse(t.n, "isolation", "is a level that the database does not keep", "write one of "+quoteAll(kept))
	case engine == mysql && t.Isolation == "serializable" && t.FIFO && !t.n.has("locked_until"):
		p.refuse(t.n, "isolation", `cannot be "serializable" with fifo in the row lock form on MySQL and MariaDB`, `write "repeatable_read", or take the lease form with locked_until`)
	}
	if t.Mode != "" && engine != "" && engine != sqlite {
		p.refuse(t.n, "mode", "is a setting of SQLite", `write isolation = ".."`)
	}
}

// checkTablesTogether refuses two declarations of one table, whose roles could differ.
func (p *parser) checkTablesTogether() {
	first := map[[2]string]*tableDraft{}
	for _, t := range p.tables {
		place := [2]string{t.Schema, t.Name}
		if other, taken := first[place]; taken {
			p.refuse(t.n, "name", fmt.Sprintf("the same table as %s (line %d)", other.path, other.Line), "declare a table once; several handlers may name it")
			continue
		}
		first[place] = t
	}
}
