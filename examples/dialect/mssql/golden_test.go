package mssql

import (
	"slices"
	"strings"
	"testing"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/examples/dialect/internal/goldens"
)

// sets are the role sets of the three forms.
func sets() []goldens.Set {
	key := []dialect.KeyPart{{Literal: "it's-"}, {Column: "channel"}, {Literal: "/"}, {Column: "id"}}
	return slices.Concat(
		goldens.Sets("row-lock", nil, nil),
		goldens.Sets("lease", map[dialect.Role]string{dialect.LockedUntil: "locked until"}, nil),
		goldens.Sets("advisory", nil, key))
}

// described is a copy of a table with the columns that its schema creates, as the server would describe
// them.
func described(set *dialect.Table) *dialect.Table {
	t, d := *set, New()
	for line := range strings.Lines(d.Schema(set).Table) {
		name, rest, isColumn := strings.Cut(strings.TrimSpace(line), "] ")
		if !isColumn || !strings.HasPrefix(name, "[") {
			continue
		}
		typeName, _, _ := strings.Cut(strings.TrimSuffix(rest, ","), " ")
		c := dialect.Column{Name: strings.ReplaceAll(name[1:], "]]", "]"), Type: typeName, Kind: d.Kind(typeName),
			Nullable:       !strings.Contains(rest, "NOT NULL") && !strings.Contains(rest, "PRIMARY KEY"),
			AlwaysIdentity: strings.Contains(rest, "IDENTITY")}
		if c.Kind == dialect.Integer {
			c.Max = d.MaxInteger(typeName)
		}
		if c.Kind == dialect.Time {
			c.Precision = 6
		}
		t.Columns = append(t.Columns, c)
	}
	return &t
}

// TestGoldens renders every statement of every form on every role set, and sees that each value that a
// statement binds has its placeholder.
func TestGoldens(t *testing.T) {
	for _, set := range sets() {
		t.Run(set.Name, func(t *testing.T) {
			table := described(set.Table)
			if flaws := table.Check(New()); len(flaws) > 0 {
				t.Fatalf("%+v", flaws)
			}
			target := *table
			target.Schema, target.Name, target.Key = "", "dead_letters", nil
			text, statements := goldens.Text(t, New(), table, &target)
			goldens.Compare(t, set.Name, text)
			for _, n := range statements {
				if err := goldens.CheckPlaceholders("@p", &n.Statement); err != nil {
					t.Errorf("%s: %v", n.Name, err)
				}
			}
		})
	}
}
