package forms

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"time"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
)

// maxGroup is how many rows one statement settles. Larger groups gain little more and hold their locks
// longer, and MariaDB plans a list of a thousand values as a join with them, in their order.
const maxGroup = 512

// Settle ends deliveries, as many as it can in one transaction, and answers each of them. A group
// whose statement fails is settled again row by row, so that one bad row fails alone.
func (l *Lease) Settle(ctx context.Context, settlements []*Settlement) []Answer {
	now := l.options.Now()
	if l.fifo != nil {
		l.fifo.settled(settlements)
	}
	answers := l.each(ctx, settlements, work{
		doing: "settle",
		refuse: func(row *Settlement) error {
			if h := &l.change[row.Change]; h.Many == nil && h.One == nil {
				return fmt.Errorf("settle row %s of %s: its subscription has no such dead letter target", row.Delivery.ID, l.table)
			}
			return nil
		},
		single: func(rows []*Settlement) bool {
			for _, row := range rows {
				if row.Change != rows[0].Change || !single(&l.change[row.Change]) {
					return false
				}
			}
			return true
		},
		whole:  l.settleWhole,
		direct: func(ctx context.Context, rows []*Settlement) (*found, error) { return l.settleDirectly(ctx, now, rows) },
		run: func(ctx context.Context, w writer, rows []*Settlement) (*found, error) {
			return l.settleByChange(ctx, w, now, rows)
		},
	})
	for i, row := range settlements {
		if state := answers[i].State; row.Change == Return && row.Until.IsZero() && (state == Done || state == Unknown) {
			l.mark.comeBack()
		}
	}
	return answers
}

// extend moves the leases of deliveries in one transaction, or more where they are many.
func (l *Lease) extend(ctx context.Context, deliveries []*Delivery) []Answer {
	now := l.options.Now()
	expiry := l.expiry(now)
	rows := make([]*Settlement, len(deliveries))
	for i, d := range deliveries {
		rows[i] = &Settlement{Delivery: d}
	}
	answers := l.each(ctx, rows, work{
		doing:  "extend",
		refuse: func(*Settlement) error { return nil },
		single: func([]*Settlement) bool { return single(&l.extension) },
		run: func(ctx context.Context, w writer, rows []*Settlement) (*found, error) {
			return l.changeGroup(ctx, w, &l.extension, &bind{source: &l.source, now: now, expiry: expiry, rows: rows})
		},
	})
	written := l.dialect.FormatTime(expiry, l.table.Column(dialect.LockedUntil).Precision)
	for i, d := range deliveries {
		switch answers[i].State {
		case Done:
			d.expires = now.Add(l.options.Lease)
			d.others = nil
		case Unknown:
			// Either expiry may stand in the row now, and each of them is this delivery's own.
			d.others = append(d.others, written)
		}
	}
	return answers
}

// KeepEvery implements [Form].
func (l *Lease) KeepEvery() time.Duration { return l.options.Lease / 2 }

// writer is where a group's statements run: the store, where each commits alone, or a transaction.
type writer = store.Conn

// found says which rows of a group still held their token and were changed, and the new token of
// each where the change was an extension.
type found struct {
	rows   []bool
	tokens []string
}

func newFound(n int) *found { return &found{make([]bool, n), make([]string, n)} }

// work is a change to rows.
type work struct {
	doing string
	// refuse says why a row cannot be changed at all.
	refuse func(row *Settlement) error
	// single reports whether a group is one statement, which is a transaction of its own.
	single func(rows []*Settlement) bool
	// direct, where the change has it, runs a group in one round trip. It fails for a reason that passes where
	// it would have to wait for other sessions.
	direct func(ctx context.Context, rows []*Settlement) (*found, error)
	run    func(ctx context.Context, w writer, rows []*Settlement) (*found, error)
	// whole, where the change has it, changes rows that are alike by one statement, all of them or none, and says which.
	whole func(ctx context.Context, rows []*Settlement) (bool, error)
}

func single(h *dialect.Held) bool { return h.Many != nil && h.Lock == nil }

// each runs the rows in groups and answers every row, whatever happens.
func (l *Lease) each(ctx context.Context, rows []*Settlement, w work) []Answer {
	answers := make([]Answer, len(rows))
	var group []int
	for i, row := range rows {
		if err := w.refuse(row); err != nil {
			answers[i] = Answer{State: Failed, Err: err}
			continue
		}
		if len(row.Delivery.others) > 0 {
			answers[i] = l.alone(ctx, row, w)
			continue
		}
		if group = append(group, i); len(group) == maxGroup {
			l.together(ctx, rows, group, w, answers)
			group = group[:0]
		}
	}
	l.together(ctx, rows, group, w, answers)
	return answers
}

// together runs a group: the rows that are alike as a whole each, where the change has that, and in one transaction those
// of which that changed none.
func (l *Lease) together(ctx context.Context, rows []*Settlement, indexes []int, w work, answers []Answer) {
	if w.whole != nil {
		indexes = l.wholes(ctx, rows, indexes, w, answers)
	}
	if len(indexes) > 0 {
		l.group(ctx, rows, indexes, w, answers)
	}
}

// group runs one group: first in one transaction, and row by row where that failed and changed
// nothing.
func (l *Lease) group(ctx context.Context, rows []*Settlement, indexes []int, w work, answers []Answer) {
	members := make([]*Settlement, len(indexes))
	for i, index := range indexes {
		members[i] = rows[index]
	}
	f, failure, err := l.try(ctx, members, w)
	if failure == store.Refused && len(members) == 1 {
		if plain, changed := members[0].plain(); changed {
			f, failure, err = l.try(ctx, []*Settlement{plain}, w)
		}
	}
	if err == nil {
		for i, index := range indexes {
			answers[index] = l.answer(ctx, members[i].Delivery, f, i)
		}
		return
	}
	err = fmt.Errorf("%s rows of %s: %w", w.doing, l.table, err)
	if failure == store.Refused && len(indexes) > 1 {
		for _, index := range indexes {
			l.group(ctx, rows, []int{index}, w, answers)
		}
		return
	}
	for _, index := range indexes {
		answers[index] = Answer{State: stateOf(failure), Err: err}
	}
}

// errPassedOver is a statement that has left out rows which this transaction has locked. MariaDB's can: a
// claim on its way may have the row's entry in an index locked that the statement reads by, for a moment.
var errPassedOver = errors.New("rows were passed over")

// try runs a group until it does not fail for a reason that passes.
func (l *Lease) try(ctx context.Context, rows []*Settlement, w work) (f *found, failure store.Failure, err error) {
	for range tries {
		if f, failure, err = l.transact(ctx, rows, w); err == nil || failure != store.Transient {
			break
		}
	}
	return f, failure, err
}

// answer is what became of one row of a group that was committed.
func (l *Lease) answer(ctx context.Context, d *Delivery, f *found, i int) Answer {
	if !f.rows[i] {
		return l.missed(ctx, d)
	}
	if f.tokens[i] != "" {
		d.token = f.tokens[i]
	}
	return Answer{}
}

func stateOf(f store.Failure) State {
	switch f {
	case store.Refused:
		return Failed
	case store.Unanswered:
		return Unknown
	default:
		return Unsent
	}
}

// transact runs a group in a transaction. What fails before the commit is sent changed nothing,
// whether it was answered or not.
func (l *Lease) transact(ctx context.Context, rows []*Settlement, w work) (*found, store.Failure, error) {
	if w.direct != nil && l.mayGoDirectly(rows) {
		f, err := w.direct(ctx, rows)
		if err == nil {
			return f, 0, nil
		}
		if failure := l.store.Failure(err); failure != store.Transient {
			return nil, failure, err
		}
		l.careful = l.options.Now().Add(carefulFor)
	}
	if w.single(rows) {
		f, err := w.run(ctx, l.store, rows)
		if err != nil {
			return nil, l.store.Failure(err), err
		}
		return f, 0, nil
	}
	tx, err := l.store.Begin(ctx)
	if err != nil {
		return nil, l.store.Failure(err), err
	}
	f, err := w.run(ctx, tx, rows)
	if err != nil {
		failure := l.store.Failure(err)
		switch {
		case errors.Is(err, errPassedOver):
			failure = store.Transient
		case failure == store.Unanswered:
			failure = store.Unsent
		}
		return nil, failure, errors.Join(err, tx.Rollback())
	}
	if err := tx.Commit(ctx); err != nil {
		return nil, l.store.Failure(err), fmt.Errorf("commit: %w", err)
	}
	return f, 0, nil
}

// alone runs a delivery whose last extension got no answer: whichever of its expiries the row has is
// its own.
func (l *Lease) alone(ctx context.Context, row *Settlement, w work) Answer {
	d := row.Delivery
	answers := make([]Answer, 1)
	for range 1 + len(d.others) {
		l.group(ctx, []*Settlement{row}, []int{0}, w, answers)
		if answers[0].State != Lost {
			break
		}
		d.turn()
	}
	return answers[0]
}

// missed tells a row that was passed over because another session has it locked from one that is no
// longer held.
func (l *Lease) missed(ctx context.Context, d *Delivery) Answer {
	held := false
	b := &bind{source: &l.source, one: &Settlement{Delivery: d}}
	err := l.store.Query(ctx, &l.held, 0, b.arguments(&l.held, 0), func([][]byte) error {
		held = true
		return nil
	})
	switch {
	case err != nil:
		return Answer{State: Unsent, Err: fmt.Errorf("look for row %s of %s: %w", d.ID, l.table, err)}
	case held:
		return Answer{State: Busy}
	default:
		return Answer{State: Lost}
	}
}

const (
	// directGroup is how many rows are settled directly at least: for fewer, what goes with a transaction costs
	// more than it spares.
	directGroup = 8
	// lockTimeout is how long a direct settlement waits for other sessions, and carefulFor how long none is
	// tried after one that had to.
	lockTimeout = 50 * time.Millisecond
	carefulFor  = time.Second
)

// mayGoDirectly reports whether a group can be settled directly and should be.
func (l *Lease) mayGoDirectly(rows []*Settlement) bool {
	if l.pipeline == nil || len(rows) < directGroup || l.options.Now().Before(l.careful) {
		return false
	}
	for _, row := range rows {
		if l.change[row.Change].Direct == nil {
			return false
		}
	}
	return true
}

// settleDirectly runs every change of a group in one round trip.
func (l *Lease) settleDirectly(ctx context.Context, now time.Time, rows []*Settlement) (*found, error) {
	all := newFound(len(rows))
	var steps []store.Step
	for change, part := range byChange(rows) {
		s := l.change[change].Direct
		b := &bind{source: &l.source, now: now, rows: part.rows}
		steps = append(steps, store.Step{Statement: s, Args: b.arguments(s, 0), Row: func(v [][]byte) error {
			n, err := ordinalOf(v[0], len(part.rows))
			if err == nil {
				all.rows[part.indexes[n]] = true
			}
			return err
		}})
	}
	return all, l.pipeline.Pipeline(ctx, lockTimeout, steps...)
}

// part is the rows of a group that are changed alike, with their indexes in the group.
type part struct {
	rows    []*Settlement
	indexes []int
}

// byChange gives the rows of a group for each kind of change that there is.
func byChange(rows []*Settlement) iter.Seq2[Change, part] {
	return func(yield func(Change, part) bool) {
		for change := range changeCount {
			var p part
			for i, row := range rows {
				if row.Change == change {
					p.rows, p.indexes = append(p.rows, row), append(p.indexes, i)
				}
			}
			if len(p.rows) > 0 && !yield(change, p) {
				return
			}
		}
	}
}

// settleByChange runs one group for each kind of change.
func (l *Lease) settleByChange(ctx context.Context, w writer, now time.Time, rows []*Settlement) (*found, error) {
	all := newFound(len(rows))
	for change, part := range byChange(rows) {
		some, err := l.changeGroup(ctx, w, &l.change[change], &bind{source: &l.source, now: now, rows: part.rows})
		if err != nil {
			return nil, err
		}
		for i, index := range part.indexes {
			all.rows[index] = some.rows[i]
		}
	}
	return all, nil
}

// changeGroup runs the statements of one change on the rows of b.
func (l *Lease) changeGroup(ctx context.Context, w writer, h *dialect.Held, b *bind) (*found, error) {
	f := newFound(len(b.rows))
	if h.Lock == nil {
		return f, l.changeArrays(ctx, w, h.Many, b, f)
	}
	index := l.index(b.rows)
	if err := l.lock(ctx, w, h.Lock, b, index, f); err != nil {
		return nil, err
	}
	var rows []*Settlement
	for i, row := range b.rows {
		if f.rows[i] {
			rows = append(rows, row)
		}
	}
	if len(rows) == 0 {
		return f, nil
	}
	b.rows = rows
	if h.Many != nil {
		n := listLength(len(rows))
		changed, err := w.Exec(ctx, h.Many, n, b.arguments(h.Many, n))
		if err != nil {
			return nil, err
		}
		if changed != int64(len(rows)) {
			return nil, fmt.Errorf("%w: %d rows are locked and held, but %d changed", errPassedOver, len(rows), changed)
		}
	}
	for _, row := range rows {
		b.one = row
		for i := range h.One {
			changed, err := w.Exec(ctx, &h.One[i], 0, b.arguments(&h.One[i], 0))
			if err != nil {
				return nil, err
			}
			if changed != 1 {
				return nil, fmt.Errorf("row %s is locked and held, but %d rows changed", row.Delivery.ID, changed)
			}
		}
	}
	if h.Reread != nil {
		return f, l.reread(ctx, w, h.Reread, b, index, f)
	}
	return f, nil
}

// changeArrays runs a statement that takes arrays and answers the ordinals of the rows it changed.
func (l *Lease) changeArrays(ctx context.Context, w writer, s *dialect.Statement, b *bind, f *found) error {
	return w.Query(ctx, s, 0, b.arguments(s, 0), func(v [][]byte) error {
		n, err := ordinalOf(v[0], len(f.rows))
		if err != nil {
			return err
		}
		f.rows[n] = true
		if len(v) > 1 {
			f.tokens[n] = string(v[1])
		}
		return nil
	})
}

// ordinalOf reads which of n rows an answer is about, from 0.
func ordinalOf(text []byte, n int) (int, error) {
	i, err := strconv.Atoi(string(text))
	if err != nil || i < 1 || i > n {
		return 0, fmt.Errorf("the database answered row %q of %d", text, n)
	}
	return i - 1, nil
}

// index finds the rows of a group by their key.
func (l *Lease) index(rows []*Settlement) map[string]int {
	index := make(map[string]int, len(rows))
	for i, row := range rows {
		index[row.Delivery.ID.mapKey()] = i
	}
	return index
}

// lock locks the rows and compares their tokens.
func (l *Lease) lock(ctx context.Context, w writer, s *dialect.Statement, b *bind, index map[string]int, f *found) error {
	n := listLength(len(b.rows))
	return w.Query(ctx, s, n, b.arguments(s, n), func(v [][]byte) error {
		i, ok := index[l.key(v).mapKey()]
		if !ok {
			return nil
		}
		d := b.rows[i].Delivery
		f.rows[i] = string(v[len(l.columns)]) == d.token
		if l.table.Has(dialect.Attempt) {
			f.rows[i] = f.rows[i] && string(v[len(l.columns)+1]) == strconv.FormatInt(d.count, 10)
		}
		return nil
	})
}

// reread reads back what the lease column made of a new expiry.
func (l *Lease) reread(ctx context.Context, w writer, s *dialect.Statement, b *bind, index map[string]int, f *found) error {
	n := listLength(len(b.rows))
	return w.Query(ctx, s, n, b.arguments(s, n), func(v [][]byte) error {
		if i, ok := index[l.key(v).mapKey()]; ok {
			f.tokens[i] = string(v[len(l.columns)])
		}
		return nil
	})
}

// key reads the key that stands first in an answer.
func (l *Lease) key(values [][]byte) ID { return NewID(l.columns, values) }
