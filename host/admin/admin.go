// Package admin is what an operator does with the tables of a configuration, whether a service runs on them or not:
// count their rows, look at them, move dead letters back, delete what is done with, call off what waits.
package admin

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/host/config"
)

// State is what a row is doing.
type State = dialect.RowState

// The states of a row.
const (
	Due       = dialect.RowDue
	Delayed   = dialect.RowDelayed
	InWork    = dialect.RowInWork
	Dead      = dialect.RowDead
	Processed = dialect.RowProcessed
)

// States lists them.
func States() []State { return []State{Due, Delayed, InWork, Dead, Processed} }

// Admin looks at and changes the declared tables of a database. It is safe for concurrent use.
type Admin struct {
	store   store.Store
	dialect dialect.Inspector
	config  *config.Config
	tables  map[*config.Table]*dialect.Table // described
	now     func() time.Time
}

// Error is a mistake in what was asked for, in words for whoever asked.
type Error struct{ text string }

func (e *Error) Error() string { return e.text }

func mistake(format string, args ...any) error { return &Error{fmt.Sprintf(format, args...)} }

// New works on tables that are described already; nil where the dialect has no statements for operators. The store stays
// the caller's.
func New(s store.Store, cfg *config.Config, tables map[*config.Table]*dialect.Table, now func() time.Time) *Admin {
	d, ok := s.Dialect().(dialect.Inspector)
	if !ok {
		return nil
	}
	return &Admin{s, d, cfg, tables, now}
}

// Open describes the declared tables. The store stays the caller's.
func Open(ctx context.Context, s store.Store, cfg *config.Config, now func() time.Time) (*Admin, error) {
	tables := map[*config.Table]*dialect.Table{}
	for _, declared := range cfg.Tables {
		t := declared.Declared()
		if err := forms.Describe(ctx, s, t); errors.Is(err, forms.ErrNoTable) {
			return nil, fmt.Errorf("the database has no table %s: `inbox-wasm schema --apply` creates it", t)
		} else if err != nil {
			return nil, err
		}
		for _, f := range t.Check(s.Dialect()) {
			return nil, fmt.Errorf("[tables.%s] %s: %s; %s", declared.Key, f.Role, f.What, f.Remedy)
		}
		tables[declared] = t
	}
	a := New(s, cfg, tables, now)
	if a == nil {
		return nil, fmt.Errorf("the dialect of %s has no statements for operators", s.Dialect().Name())
	}
	return a, nil
}

// table finds a declared table by its key.
func (a *Admin) table(key string) (*config.Table, *dialect.Table, error) {
	if declared := a.config.Table(key); declared != nil {
		return declared, a.tables[declared], nil
	}
	keys := make([]string, len(a.config.Tables))
	for i, t := range a.config.Tables {
		keys[i] = t.Key
	}
	return nil, nil, mistake("no table %q is declared; there are: %s", key, strings.Join(keys, ", "))
}

// letters says which rows of a table are dead letters, and names their groups.
func (a *Admin) letters(declared *config.Table) (dialect.Letters, []string) {
	groups := a.config.DeadGroups(declared)
	return dialect.Letters{All: len(a.config.Buriers(declared)) > 0, Groups: len(groups)}, groups
}

// selection is which rows a statement is about, with what it binds.
type selection struct {
	dialect.Where
	table  *dialect.Table
	dead   []string // the groups of dead letters
	group  string
	id     forms.ID
	cutoff time.Time
	target string
	limit  int
	offset int
	// preview is how much is read of what may be long.
	preview int
}

// arguments are the values of a statement's placeholders.
func (a *Admin) arguments(s *dialect.Statement, sel *selection) []any {
	args := make([]any, len(s.Params))
	for i, p := range s.Params {
		args[i] = a.value(p, sel)
	}
	return args
}

func (a *Admin) value(p dialect.Param, sel *selection) any {
	switch p.Name {
	case dialect.Now:
		return a.dialect.FormatTime(a.now(), 6)
	case dialect.Cutoff:
		return a.dialect.FormatTime(sel.cutoff, 6)
	case dialect.DeadGroup:
		return sel.dead[p.Part]
	case dialect.GroupName:
		return sel.group
	case dialect.Target:
		return sel.target
	case dialect.ID:
		return sel.id[p.Part]
	case dialect.Limit:
		return int64(sel.limit)
	case dialect.Offset:
		return int64(sel.offset)
	case dialect.Preview:
		return int64(sel.preview)
	default:
		panic(fmt.Sprintf("a statement for operators binds %q", p))
	}
}

// selects is a selection of a declared table, narrowed to a group where one is given.
func (a *Admin) selects(key string, state State, group *string) (*config.Table, *selection, error) {
	declared, described, err := a.table(key)
	if err != nil {
		return nil, nil, err
	}
	sel := &selection{table: described}
	sel.Letters, sel.dead = a.letters(declared)
	sel.State = state
	if state == Dead && !sel.Letters.All && sel.Letters.Groups == 0 {
		return nil, nil, mistake("table %s has no dead letters: no handler names it, or a group of it, as its dead_letter", key)
	}
	if group != nil {
		if !described.Has(dialect.Group) {
			return nil, nil, mistake("table %s has no groups", key)
		}
		sel.Group, sel.group = true, *group
	}
	return declared, sel, nil
}

// keys reads keys as [forms.ID.String] writes them.
func keys(t *dialect.Table, texts []string) ([]forms.ID, error) {
	ids := make([]forms.ID, len(texts))
	for i, text := range texts {
		var err error
		if ids[i], err = forms.ParseID(t, text); err != nil {
			return nil, mistake("the key %q of a row of %s: %v", text, t, err)
		}
	}
	return ids, nil
}
