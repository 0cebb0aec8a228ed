package dialect

import (
	"maps"
	"slices"
	"strings"
)

// Types are the column types that a database's own schema uses, each with its constraints.
type Types struct {
	// SingleID is the key of one column, PartID one column of a key of several.
	SingleID, PartID string
	Roles            map[Role]string
	// Suffix ends a CREATE TABLE.
	Suffix string
	// MaxName is the longest name that the database keeps, in bytes.
	MaxName int
}

// Schema writes the table and its claim-order index.
func (g *Grammar) Schema(t *Table, types Types) Schema {
	var lines []string
	for _, name := range t.ID {
		kind := types.SingleID
		if len(t.ID) > 1 {
			kind = types.PartID
		}
		lines = append(lines, g.Quote(name)+" "+kind)
	}
	described := &Table{Schema: t.Schema, Name: t.Name, ID: t.ID, Roles: t.Roles}
	for _, column := range t.keyColumns() {
		lines = append(lines, g.Quote(column)+" "+types.Roles[PartitionKey])
	}
	for _, r := range Roles() {
		if !t.Has(r) {
			continue
		}
		kind := types.Roles[r]
		lines = append(lines, g.Quote(t.Roles[r])+" "+kind)
		described.Columns = append(described.Columns, Column{Name: t.Roles[r], Nullable: !strings.Contains(kind, "NOT NULL")})
	}
	for _, column := range t.dataColumns() {
		lines = append(lines, g.Quote(column)+" "+types.Roles[Error])
	}
	if len(t.ID) > 1 {
		lines = append(lines, "PRIMARY KEY ("+g.IDs(t, "")+")")
	}
	create := "CREATE TABLE " + g.Table(t) + " (\n  " + strings.Join(lines, ",\n  ") + "\n)" + types.Suffix
	schema := Schema{Table: create, Index: g.besideKey(described, Selection{}, types.MaxName)}
	if across := (Selection{AllGroups: true}); across.acrossGroups(t) {
		schema.OrderIndex = g.besideKey(described, across, types.MaxName)
	}
	if t.OnConflict != nil && !slices.Equal(t.OnConflict, t.ID) {
		schema.OnceIndex = strings.Replace(g.index(t, "_once_idx", types.MaxName, strings.Join(g.quoted(t.OnConflict), ", ")), "CREATE ", "CREATE UNIQUE ", 1)
	}
	if t.FIFO && t.Has(LockedUntil) {
		schema.GroupIndex = g.index(t, "_group_idx", types.MaxName, g.Role(t, "", Group)+", "+g.Role(t, "", LockedUntil)) + g.partial(t)
	}
	return schema
}

// keyColumns lists the columns that a lock key names and that are neither of the table's own key nor play
// a role.
func (t *Table) keyColumns() []string {
	var names []string
	for _, part := range t.Key {
		name := part.Column
		if name == "" || slices.Contains(t.ID, name) || slices.Contains(names, name) ||
			slices.Contains(slices.Collect(maps.Values(t.Roles)), name) {
			continue
		}
		names = append(names, name)
	}
	return names
}

// besideKey is the CREATE INDEX of a selection's claim order, empty where the primary key has it.
func (g *Grammar) besideKey(t *Table, s Selection, maxName int) string {
	index := g.Index(t, s, maxName)
	if index.Condition == "" && slices.Equal(index.Columns, t.ID) {
		return ""
	}
	return index.Create
}

// acrossGroups reports whether rows of all groups are claimed in one order. A FIFO table is claimed from
// group by group.
func (s Selection) acrossGroups(t *Table) bool { return s.AllGroups && t.Has(Group) && !t.FIFO }

// dataColumns lists the declared columns of row mode that nothing else names. What their types are to be
// is not declared, so they are texts.
func (t *Table) dataColumns() []string {
	named := slices.Concat(t.ID, t.keyColumns(), slices.Collect(maps.Values(t.Roles)))
	var names []string
	for _, name := range t.Data {
		if !slices.Contains(named, name) {
			names = append(names, name)
		}
	}
	return names
}

// Index is the index of the order in which a selection of a described table's rows is claimed.
func (g *Grammar) Index(t *Table, s Selection, maxName int) Index {
	suffix := "_claim_idx"
	var first []Role
	if s.acrossGroups(t) {
		suffix = "_order_idx"
	} else if t.Has(Group) {
		first = append(first, Group)
	}
	if t.Has(ProcessedAt) && !g.Partial {
		first = append(first, ProcessedAt)
	}
	var index Index
	var terms []string
	for _, r := range first {
		index.Columns = append(index.Columns, t.Roles[r])
		terms = append(terms, g.Role(t, "", r))
	}
	for _, r := range []Role{Priority, RetryAfter} {
		if t.Has(r) {
			index.Columns = append(index.Columns, t.Roles[r])
		}
	}
	index.Columns = append(index.Columns, t.ID...)
	index.Create = g.index(t, suffix, maxName, strings.Join(append(terms, g.order(t, g.IndexNulls)), ", ")) + g.partial(t)
	if g.Partial && t.Has(ProcessedAt) {
		index.Condition = g.open(t)
	}
	return index
}

// open is the condition that a row is not marked as processed.
func (g *Grammar) open(t *Table) string { return g.Role(t, "", ProcessedAt) + " IS NULL" }

// partial is the condition of an index that leaves the processed rows out.
func (g *Grammar) partial(t *Table) string {
	if !g.Partial || !t.Has(ProcessedAt) {
		return ""
	}
	return " WHERE " + g.open(t)
}

// index is the CREATE INDEX of columns under a name that the database can keep.
func (g *Grammar) index(t *Table, suffix string, maxName int, columns string) string {
	name := t.Name
	for len(name)+len(suffix) > maxName {
		name = name[:len(name)-1]
	}
	name = strings.ToValidUTF8(name, "")
	return "CREATE INDEX " + g.Quote(name+suffix) + " ON " + g.Table(t) + " (" + columns + ")"
}
