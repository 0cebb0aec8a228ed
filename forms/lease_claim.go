package forms

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"time"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
)

// Claim takes at most limit claimable rows, in claim order. With ahead it leaves out the rows on their
// last attempt, which only a free thread may take: a crash would spend it before it began.
func (l *Lease) Claim(ctx context.Context, limit int, ahead bool) ([]*Delivery, error) {
	statements := &l.claim
	if ahead {
		statements = &l.ahead
	}
	var batch *claimed
	var err error
	for range tries {
		batch, err = l.claimOnce(ctx, statements, limit)
		if err == nil || l.store.Failure(err) != store.Transient {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("claim from %s: %w", l.table, err)
	}
	if !statements.Ordered {
		slices.SortStableFunc(batch.rows, l.claimOrder)
	}
	deliveries := make([]*Delivery, len(batch.rows))
	for i := range batch.rows {
		deliveries[i] = batch.rows[i].delivery
	}
	return deliveries, nil
}

func (l *Lease) claimOnce(ctx context.Context, c *dialect.LeaseClaim, limit int) (*claimed, error) {
	now := l.options.Now()
	b := &bind{lease: l, now: now, expiry: l.expiry(now), limit: limit}
	batch := &claimed{lease: l, expires: now.Add(l.options.Lease)}
	if c.Stamp != nil {
		return batch, l.claimInSteps(ctx, c, b, batch)
	}
	return batch, l.store.Query(ctx, &c.Take, 0, b.arguments(&c.Take, 0), batch.read(&c.Take, true))
}

// claimInSteps locks and reads the rows, stamps them, and reads back what the lease column made of
// the expiry.
func (l *Lease) claimInSteps(ctx context.Context, c *dialect.LeaseClaim, b *bind, batch *claimed) (err error) {
	tx, err := l.store.Begin(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, tx.Rollback()) }()
	if err := tx.Query(ctx, &c.Take, 0, b.arguments(&c.Take, 0), batch.read(&c.Take, false)); err != nil {
		return err
	}
	if len(batch.rows) == 0 {
		return nil
	}
	b.rows = make([]*Settlement, len(batch.rows))
	for i, row := range batch.rows {
		b.rows[i] = &Settlement{Delivery: row.delivery}
	}
	n := listLength(len(b.rows))
	if _, err := tx.Exec(ctx, c.Stamp, n, b.arguments(c.Stamp, n)); err != nil {
		return err
	}
	token := ""
	err = tx.Query(ctx, c.Reread, 1, b.arguments(c.Reread, 1), func(v [][]byte) error {
		token = string(v[len(l.columns)])
		return nil
	})
	if err != nil {
		return err
	}
	if token == "" {
		return errors.New("a stamped row is not there to be read back")
	}
	if err := tx.Commit(ctx); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	for _, row := range batch.rows {
		row.delivery.token = token
	}
	return nil
}

// listLength is the length at which a list of n rows is sent: the next power of two, so that few
// different texts reach the database.
func listLength(n int) int {
	length := 1
	for length < n {
		length *= 2
	}
	return length
}

// claimed reads the rows of one claim.
type claimed struct {
	lease   *Lease
	expires time.Time
	rows    []claimedRow
	// token and group are those of the last row, which most rows share.
	token, group string
}

// claimedRow is a delivery with what it is sorted by.
type claimedRow struct {
	delivery   *Delivery
	priority   priority
	retryAfter string
}

// read decodes a row of the claim's answer. counted says that the attempt is the one after the claim.
func (c *claimed) read(s *dialect.Statement, counted bool) func([][]byte) error {
	highest := c.lease.table.Column(dialect.Attempt).Max
	return func(values [][]byte) error {
		d := &Delivery{ID: make(ID, len(c.lease.columns)), expires: c.expires}
		row := claimedRow{delivery: d}
		for i, output := range s.Returns {
			v := values[i]
			switch output.Field {
			case dialect.FieldID:
				d.ID[output.Part] = idPart(c.lease.columns[output.Part].Kind, v)
			case dialect.FieldToken:
				d.token = c.share(&c.token, v)
			case dialect.FieldAttempt:
				n, err := strconv.ParseInt(string(v), 10, 64)
				if err != nil {
					return fmt.Errorf("the attempt of row %s: %w", d.ID, err)
				}
				d.Attempt, d.count = around(n, highest, counted)
			case dialect.FieldGroup:
				d.Group = c.share(&c.group, v)
			case dialect.FieldPartitionKey:
				d.PartitionKey, d.HasPartitionKey = string(v), v != nil
			case dialect.FieldHeaders:
				d.Headers = slices.Clone(v)
			case dialect.FieldPayload:
				d.Payload = slices.Clone(v)
			case dialect.FieldPriority:
				row.priority = newPriority(v)
			case dialect.FieldRetryAfter:
				row.retryAfter = string(v)
			}
		}
		c.rows = append(c.rows, row)
		return nil
	}
}

// around is the attempt before a claim and after it, from one of the two. At the top of its type the
// attempt no longer counts, and both are the top.
func around(n, highest int64, counted bool) (before, after int64) {
	switch {
	case n >= highest:
		return n, n
	case counted:
		return n - 1, n
	default:
		return n, n + 1
	}
}

// share is the text, without a new copy where it is the last row's.
func (c *claimed) share(last *string, text []byte) string {
	if *last != string(text) {
		*last = string(text)
	}
	return *last
}

// priority sorts numbers by their size and other text by its bytes, NULL last.
type priority struct {
	null   bool
	number float64
	text   string
}

func newPriority(v []byte) priority {
	if v == nil {
		return priority{null: true}
	}
	if n, err := strconv.ParseFloat(string(v), 64); err == nil {
		return priority{number: n}
	}
	return priority{text: string(v)}
}

// claimOrder sorts rows that were claimed together as the claim chose them: a database that answers
// what it changed answers in no order. The text of a time sorts as the instant does, and no text
// before every other.
func (l *Lease) claimOrder(a, b claimedRow) int {
	byNull := 0
	if a.priority.null != b.priority.null {
		byNull = 1
		if b.priority.null {
			byNull = -1
		}
	}
	return cmp.Or(
		byNull,
		cmp.Compare(a.priority.number, b.priority.number),
		cmp.Compare(a.priority.text, b.priority.text),
		cmp.Compare(a.retryAfter, b.retryAfter),
		compareID(l.columns, a.delivery.ID, b.delivery.ID),
	)
}

func compareID(columns []dialect.Column, a, b ID) int {
	for i := range a {
		order := 0
		switch v := a[i].(type) {
		case int64:
			if w, ok := b[i].(int64); ok {
				order = cmp.Compare(v, w)
			}
		case string:
			if w, ok := b[i].(string); ok {
				order = compareText(columns[i].Kind, v, w)
			}
		case []byte:
			if w, ok := b[i].([]byte); ok {
				order = slices.Compare(v, w)
			}
		}
		if order != 0 {
			return order
		}
	}
	return 0
}

// compareText compares numbers by their size and other text by its bytes.
func compareText(kind dialect.Kind, a, b string) int {
	if kind == dialect.Number {
		v, isNumber := new(big.Rat).SetString(a)
		w, isNumberToo := new(big.Rat).SetString(b)
		if isNumber && isNumberToo {
			return v.Cmp(w)
		}
	}
	return cmp.Compare(a, b)
}

// Waiting counts the rows that the subscription reads, by state.
type Waiting struct {
	// Held rows are in work somewhere, or were until a crash.
	Held int64
	// Due rows can be claimed now.
	Due int64
	// Delayed rows wait for their time.
	Delayed int64
}

// Waiting counts the subscription's rows.
func (l *Lease) Waiting(ctx context.Context) (Waiting, error) {
	statement := l.dialect.Count(l.table, dialect.Selection{AllGroups: l.options.AllGroups, Except: len(l.options.Except)})
	b := &bind{lease: l, now: l.options.Now()}
	var w Waiting
	err := l.store.Query(ctx, &statement, 0, b.arguments(&statement, 0), func(v [][]byte) error {
		var counts [3]int64
		for i := range counts {
			n, err := strconv.ParseInt(string(v[i]), 10, 64)
			if err != nil {
				return err
			}
			counts[i] = n
		}
		w = Waiting{Held: counts[0], Due: counts[1], Delayed: counts[2] - counts[1] - counts[0]}
		return nil
	})
	if err != nil {
		return Waiting{}, fmt.Errorf("count the rows of %s: %w", l.table, err)
	}
	return w, nil
}

// Skew is how far the database's clock is ahead of the host's, give or take half a round trip.
func Skew(ctx context.Context, s store.Store, now func() time.Time) (time.Duration, error) {
	statement := s.Dialect().Clock()
	var seconds float64
	before := now()
	err := s.Query(ctx, &statement, 0, nil, func(v [][]byte) (err error) {
		seconds, err = strconv.ParseFloat(string(v[0]), 64)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("read the database's clock: %w", err)
	}
	half := now().Sub(before) / 2
	return time.UnixMicro(int64(seconds * 1e6)).Sub(before.Add(half)), nil
}
