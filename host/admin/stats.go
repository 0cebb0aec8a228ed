package admin

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/inbox-wasm/inbox-wasm/abi"
	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/host/config"
)

// TableStats is what waits in a table.
type TableStats struct {
	Table string `json:"table"` // its key in inbox.toml
	Form  string `json:"form"`
	// InWorkKnown says that the database can tell which rows are in work, as it can in the lease form. In the others
	// such rows count as due.
	InWorkKnown bool         `json:"in_work_known"`
	Groups      []GroupStats `json:"groups"`
	// MissingIndexes are the CREATE INDEX of the claim orders, and of what is retained, that the table has no index of.
	MissingIndexes []string `json:"missing_indexes,omitempty"`
}

// GroupStats counts the rows of a group, or of a table without groups.
type GroupStats struct {
	Group     *string  `json:"group"` // nil where the table has no groups, or the row's is NULL
	Handlers  []string `json:"handlers"`
	Due       int64    `json:"due"`
	Delayed   int64    `json:"delayed"`
	InWork    int64    `json:"in_work"`
	Dead      int64    `json:"dead"`
	Processed int64    `json:"processed"`
	// Oldest is when the oldest row that is neither processed nor dead was written, where a column plays created_at.
	Oldest *time.Time `json:"oldest,omitempty"`
}

// Age is how old the oldest row that waits is, in seconds, and -1 where nothing says so.
func (g *GroupStats) Age(now time.Time) float64 {
	if g.Oldest == nil {
		return -1
	}
	return max(now.Sub(*g.Oldest).Seconds(), 0)
}

// Stats counts the rows of every declared table. It reads all of them.
func (a *Admin) Stats(ctx context.Context) ([]TableStats, error) {
	all := make([]TableStats, len(a.config.Tables))
	for i, declared := range a.config.Tables {
		var err error
		if all[i], err = a.census(ctx, declared); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (a *Admin) census(ctx context.Context, declared *config.Table) (TableStats, error) {
	t := a.tables[declared]
	stats := TableStats{Table: declared.Key, Form: declared.Form(), InWorkKnown: t.Has(dialect.LockedUntil), Groups: []GroupStats{}}
	sel := &selection{table: t}
	var letters dialect.Letters
	letters, sel.dead = a.letters(declared)
	statement := a.dialect.Census(t, letters)
	err := a.store.Query(ctx, &statement, 0, a.arguments(&statement, sel), func(v [][]byte) error {
		n, err := strconv.ParseInt(string(v[2]), 10, 64)
		if err != nil {
			return err
		}
		stats.add(optional(v[0]), State(v[1]), n, instant(v[3]))
		return nil
	})
	if err != nil {
		return stats, fmt.Errorf("count the rows of %s: %w", t, err)
	}
	for _, h := range a.config.Readers(declared) {
		stats.assign(h, sel.dead)
	}
	slices.SortFunc(stats.Groups, func(x, y GroupStats) int {
		if x.Group == nil || y.Group == nil {
			return cmp.Compare(btoi(x.Group != nil), btoi(y.Group != nil))
		}
		return cmp.Compare(*x.Group, *y.Group)
	})
	stats.MissingIndexes, err = a.missingIndexes(ctx, declared)
	return stats, err
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// group is that of a name, which is added where there is none.
func (s *TableStats) group(name *string) *GroupStats {
	i := slices.IndexFunc(s.Groups, func(g GroupStats) bool {
		return g.Group == nil && name == nil || g.Group != nil && name != nil && *g.Group == *name
	})
	if i < 0 {
		s.Groups = append(s.Groups, GroupStats{Group: name, Handlers: []string{}})
		i = len(s.Groups) - 1
	}
	return &s.Groups[i]
}

func (s *TableStats) add(name *string, state State, rows int64, written *time.Time) {
	g := s.group(name)
	switch state {
	case Due:
		g.Due = rows
	case Delayed:
		g.Delayed = rows
	case InWork:
		g.InWork = rows
	case Dead:
		g.Dead = rows
	case Processed:
		g.Processed = rows
	}
	if waits := state != Dead && state != Processed; waits && written != nil && (g.Oldest == nil || written.Before(*g.Oldest)) {
		g.Oldest = written
	}
}

// assign names a handler at the groups that it reads.
func (s *TableStats) assign(h *config.Handler, dead []string) {
	switch {
	case h.Table.Group == "":
		g := s.group(nil)
		g.Handlers = append(g.Handlers, h.Name)
	case h.Group != config.EveryGroup:
		g := s.group(&h.Group)
		g.Handlers = append(g.Handlers, h.Name)
	default:
		for i := range s.Groups {
			if g := &s.Groups[i]; g.Group == nil || !slices.Contains(dead, *g.Group) {
				g.Handlers = append(g.Handlers, h.Name)
			}
		}
	}
}

// missingIndexes lists the CREATE INDEX of what the table lacks.
func (a *Admin) missingIndexes(ctx context.Context, declared *config.Table) ([]string, error) {
	t := a.tables[declared]
	var missing []string
	for _, all := range []bool{false, true} {
		reads := func(h *config.Handler) bool { return (h.Group == config.EveryGroup) == all }
		if !slices.ContainsFunc(a.config.Readers(declared), reads) {
			continue
		}
		create, err := forms.MissingIndex(ctx, a.store, t, dialect.Selection{AllGroups: all})
		if err != nil {
			return nil, err
		}
		if create != "" && !slices.Contains(missing, create) {
			missing = append(missing, create)
		}
	}
	return missing, nil
}

// optional is a text that may be NULL.
func optional(text []byte) *string {
	if text == nil {
		return nil
	}
	s := string(text)
	return &s
}

// instant is a time that may be NULL, or no time.
func instant(text []byte) *time.Time {
	if t, ok := abi.ParseTime(string(text)); ok {
		t = t.UTC()
		return &t
	}
	return nil
}
