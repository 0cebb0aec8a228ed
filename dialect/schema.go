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
	if len(t.ID) > 1 {
		lines = append(lines, "PRIMARY KEY ("+g.IDs(t, "")+")")
	}
	create := "CREATE TABLE " + g.Table(t) + " (\n  " + strings.Join(lines, ",\n  ") + "\n)" + types.Suffix
	schema := Schema{Table: create, Index: g.Index(described, types.MaxName)}
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

// Index is the CREATE INDEX of the order in which a described table's rows are claimed.
func (g *Grammar) Index(t *Table, maxName int) string {
	var columns []string
	if t.Has(Group) {
		columns = append(columns, g.Role(t, "", Group))
	}
	if t.Has(ProcessedAt) && !g.Partial {
		columns = append(columns, g.Role(t, "", ProcessedAt))
	}
	return g.index(t, "_claim_idx", maxName, strings.Join(append(columns, g.order(t, g.IndexNulls)), ", ")) + g.partial(t)
}

// partial is the condition of an index that leaves the processed rows out.
func (g *Grammar) partial(t *Table) string {
	if !g.Partial || !t.Has(ProcessedAt) {
		return ""
	}
	return " WHERE " + g.Role(t, "", ProcessedAt) + " IS NULL"
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
