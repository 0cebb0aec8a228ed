package admin

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/host/config"
)

// Redrive says which dead letters go back, and where to.
type Redrive struct {
	Group *string  // of the dead letters; nil is every one
	IDs   []string // their keys, as [Row].ID; nil is all
	To    string   // a group, for dead letters in a table of their own a table; empty is where they came from
}

// Move is what a redrive moves.
type Move struct {
	From string `json:"from"`
	To   string `json:"to"`
	Rows int64  `json:"rows"`
}

// move is one of a redrive's steps.
type move struct {
	Move
	selection
	statements []dialect.Statement
}

// PlanRedrive says what a redrive would move.
func (a *Admin) PlanRedrive(ctx context.Context, table string, r Redrive) ([]Move, error) {
	moves, ids, err := a.plan(ctx, table, r)
	if err != nil {
		return nil, err
	}
	list := make([]Move, len(moves))
	for i := range moves {
		if moves[i].Rows, err = a.countAll(ctx, &moves[i].selection, ids); err != nil {
			return nil, err
		}
		list[i] = moves[i].Move
	}
	return list, nil
}

// Redrive moves dead letters back: due at once, on their first attempt, with what they failed of kept. It calls progress
// with the rows so far after each transaction; what came before an error stays moved. Rows in work, and rows that somebody has
// locked, are passed over.
func (a *Admin) Redrive(ctx context.Context, table string, r Redrive, progress func(rows int64)) ([]Move, error) {
	moves, ids, err := a.plan(ctx, table, r)
	if err != nil {
		return nil, err
	}
	list := make([]Move, 0, len(moves))
	before := int64(0)
	for i := range moves {
		m := &moves[i]
		m.Rows, err = a.changeAll(ctx, &m.selection, ids, m.statements, func(rows int64) { progress(before + rows) })
		list = append(list, m.Move)
		before += m.Rows
		if err != nil {
			return list, err
		}
	}
	return list, nil
}

// plan finds out where dead letters go.
func (a *Admin) plan(ctx context.Context, key string, r Redrive) ([]move, []forms.ID, error) {
	declared, sel, err := a.selects(key, Dead, r.Group)
	if err != nil {
		return nil, nil, err
	}
	var ids []forms.ID
	if r.IDs != nil {
		if ids, err = keys(sel.table, r.IDs); err != nil {
			return nil, nil, err
		}
	}
	if sel.Letters.All {
		m, err := a.moveBetween(declared, sel, r.To)
		return []move{m}, ids, err
	}
	groups := sel.dead
	if r.Group != nil {
		if !slices.Contains(groups, *r.Group) {
			return nil, nil, mistake("no handler sends its dead letters to group %q; the groups of dead letters are %s", *r.Group, quoted(groups))
		}
		groups = []string{*r.Group}
	}
	var moves []move
	for _, group := range groups {
		more, err := a.movesWithin(ctx, declared, *sel, group, r.To)
		if err != nil {
			return nil, nil, err
		}
		moves = append(moves, more...)
	}
	return moves, ids, nil
}

// moveBetween moves dead letters out of a table of their own.
func (a *Admin) moveBetween(declared *config.Table, sel *selection, to string) (move, error) {
	var sources []*config.Table
	var names []string
	for _, h := range a.config.Buriers(declared) {
		if !slices.Contains(sources, h.Table) {
			sources = append(sources, h.Table)
			names = append(names, h.Table.Key)
		}
	}
	if to == "" && len(sources) == 1 {
		to = sources[0].Key
	}
	i := slices.Index(names, to)
	switch {
	case to == "":
		return move{}, mistake("the dead letters of several tables are in %s: say with --to where these go, one of %s", declared.Key, quoted(names))
	case i < 0:
		return move{}, mistake("the dead letters in %s are not of table %q; they are of %s", declared.Key, to, quoted(names))
	}
	target := a.tables[sources[i]]
	return move{
		Move:       Move{From: "table " + declared.Key, To: "table " + to},
		selection:  *sel,
		statements: []dialect.Statement{a.dialect.ReviveInto(sel.table, target), a.dialect.Remove(sel.table)},
	}, nil
}

// movesWithin moves the dead letters of a group to other groups of their table.
func (a *Admin) movesWithin(ctx context.Context, declared *config.Table, sel selection, group, to string) ([]move, error) {
	sel.Group, sel.group = true, group
	from := fmt.Sprintf("group %s of %s", group, declared.Key)
	toGroup := func(sel selection, target string) move {
		sel.target = target
		return move{Move{From: from, To: "group " + target}, sel, []dialect.Statement{a.dialect.Revive(sel.table, false)}}
	}
	if to != "" {
		if slices.Contains(sel.dead, to) {
			return nil, mistake("group %q is one of dead letters", to)
		}
		return []move{toGroup(sel, to)}, nil
	}
	var moves []move
	if sel.table.Has(dialect.Origin) {
		known := sel
		known.Origin = true
		moves = append(moves, move{Move{From: from, To: "the groups that they came from"}, known, []dialect.Statement{a.dialect.Revive(sel.table, true)}})
		unknown := sel
		unknown.NoOrigin = true
		if n, err := a.count(ctx, &unknown); err != nil || n == 0 {
			return moves, err
		}
		sel = unknown
	}
	var sources []string
	all := false
	for _, h := range a.config.Readers(declared) {
		if h.DeadLetter != nil && h.DeadLetter.Table == nil && h.DeadLetter.Group == group {
			all = all || h.Group == config.EveryGroup
			sources = append(sources, h.Group)
		}
	}
	if slices.Sort(sources); all || len(slices.Compact(sources)) > 1 {
		return nil, mistake("dead letters of group %s came from one of several groups, and no column keeps which: say with --to where they go, "+
			"or give the table a column that plays origin", group)
	}
	return append(moves, toGroup(sel, sources[0])), nil
}

func quoted(names []string) string {
	list := make([]string, len(names))
	for i, name := range names {
		list[i] = strconv.Quote(name)
	}
	return strings.Join(list, ", ")
}
