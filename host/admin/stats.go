package admin

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

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
	// Oldest is since when the row has been due that has been for longest, in work or not; without a retry_after, when it
	// was written. Nil where no column says so, where nothing is due, and for dead letters.
	Oldest *time.Time `json:"oldest,omitempty"`
}

// Age is for how long the oldest row has been due, 0 where none is.
func (g *GroupStats) Age(now time.Time) time.Duration {
	if g.Oldest == nil {
		return 0
	}
	return max(now.Sub(*g.Oldest), 0)
}

// Stats counts the rows of every declared table. It reads each of them, from an index where it can.
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
	if err := a.countGroups(ctx, t, &stats); err != nil {
		return stats, fmt.Errorf("count the rows of %s: %w", t, err)
	}
	letters, dead := a.letters(declared)
	for i := range stats.Groups {
		if g := &stats.Groups[i]; letters.All || g.Group != nil && slices.Contains(dead, *g.Group) {
			g.Dead, g.Due, g.Delayed, g.Oldest = g.Due+g.Delayed, 0, 0, nil
		}
	}
	for _, h := range a.config.Readers(declared) {
		stats.assign(h, dead)
	}
	slices.SortFunc(stats.Groups, func(x, y GroupStats) int {
		if x.Group == nil || y.Group == nil {
			return cmp.Compare(btoi(x.Group != nil), btoi(y.Group != nil))
		}
		return cmp.Compare(*x.Group, *y.Group)
	})
	var err error
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

// countGroups counts the rows of each group by state, dead letters among those that wait. Its two counts run side by side,
// and a row may move in between.
func (a *Admin) countGroups(ctx context.Context, t *dialect.Table, stats *TableStats) error {
	var all, held []groupCount
	both, ctx := errgroup.WithContext(ctx)
	both.Go(func() (err error) {
		all, err = a.counts(ctx, t, a.dialect.Census(t), 3)
		return err
	})
	both.Go(func() (err error) {
		held, err = a.counts(ctx, t, a.dialect.InWork(t), 2)
		return err
	})
	if err := both.Wait(); err != nil {
		return err
	}
	for _, c := range all {
		g := stats.group(c.group)
		g.Processed, g.Delayed, g.Oldest = c.numbers[1], c.numbers[2], c.since
		g.Due = c.numbers[0] - g.Processed - g.Delayed
	}
	for _, c := range held {
		if n, delayed := c.numbers[0], c.numbers[1]; n > 0 {
			g := stats.group(c.group)
			g.InWork, g.Due, g.Delayed = n, max(g.Due-n+delayed, 0), max(g.Delayed-delayed, 0)
		}
	}
	return nil
}

// groupCount is what a count answers of a group.
type groupCount struct {
	group   *string
	numbers []int64
	since   *time.Time
}

// counts runs a count that answers so many numbers of each group, and perhaps a time; none for a statement without text.
func (a *Admin) counts(ctx context.Context, t *dialect.Table, s dialect.Statement, n int) (list []groupCount, err error) {
	if s.SQL == "" {
		return nil, nil
	}
	err = a.store.Query(ctx, &s, 0, a.arguments(&s, &selection{table: t}), func(v [][]byte) error {
		c := groupCount{group: optional(v[0]), numbers: make([]int64, n)}
		for i := range c.numbers {
			if c.numbers[i], err = strconv.ParseInt(string(v[i+1]), 10, 64); err != nil {
				return err
			}
		}
		if len(v) > n+1 {
			c.since = instant(v[n+1])
		}
		list = append(list, c)
		return nil
	})
	return list, err
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
