package model

import "testing"

// The row lock form: two rows, of which a claim may take both into its transaction. Settlements are statements of the
// transaction, and the last of them is sent with its commit. The server rolls back what is open when it sees that a connection
// has ended, which may be late, and may run a commit whose sender has gone.

const rowLockClaims = 4

type lockedRow struct {
	place   place
	owner   int8 // the transaction that has locked it, 0 for none
	attempt int8
}

// claimer is a process with its transaction.
type claimer struct {
	tx      int8    // 0 for none
	rows    [2]bool // that it holds
	began   [2]bool
	acks    [2]bool // that the transaction has made
	commits bool    // sent
}

type rowLockState struct {
	rows     [2]lockedRow
	claimers [2]claimer
	orphan   claimer // a transaction whose connection has ended, and that the server still has
	next     int8
}

// rowLockMistakes are mistakes that the form does not make.
type rowLockMistakes struct {
	outside   bool // a settlement runs outside of the transaction
	partial   bool // a transaction of which a statement failed is committed
	waitsNone bool // a claim takes rows that are locked
}

func (m rowLockMistakes) spec() spec[rowLockState] {
	s := rowLockState{next: 1}
	for i := range s.rows {
		s.rows[i].attempt = 1
	}
	return spec[rowLockState]{s, m.steps, m.holds}
}

func (m rowLockMistakes) steps(s rowLockState) (list []step[rowLockState]) {
	add := func(what string, p int, change func(s *rowLockState) string) {
		to := s
		broken := change(&to)
		list = append(list, step[rowLockState]{name("%s: process %d", what, p), to, broken})
	}
	for p, c := range s.claimers {
		if c.tx == 0 && s.next <= rowLockClaims {
			for limit := 1; limit <= 2; limit++ {
				add(name("claim of %d", limit), p, func(s *rowLockState) string { return m.claim(s, p, limit) })
			}
		}
		if c.tx == 0 {
			continue
		}
		for r := range s.rows {
			if c.rows[r] && !c.began[r] && !c.commits {
				add(name("begin row %d", r), p, func(s *rowLockState) string { s.claimers[p].began[r] = true; return "" })
			}
			if c.rows[r] && c.began[r] && !c.acks[r] && !c.commits {
				add(name("ack row %d", r), p, func(s *rowLockState) string {
					s.claimers[p].acks[r] = true
					if m.outside {
						return s.finish(c.tx, r)
					}
					return ""
				})
			}
		}
		if !c.commits && c.acks == c.rows {
			add("send the commit", p, func(s *rowLockState) string { s.claimers[p].commits = true; return "" })
		}
		if c.commits {
			add("commit", p, func(s *rowLockState) string {
				s.claimers[p] = claimer{}
				return m.commit(s, c)
			})
		}
		add("a statement fails", p, func(s *rowLockState) string {
			s.claimers[p] = claimer{}
			if m.partial {
				return m.commit(s, c)
			}
			s.release(c.tx)
			return ""
		})
		if s.orphan.tx == 0 {
			add("the connection ends", p, func(s *rowLockState) string {
				s.orphan, s.claimers[p] = c, claimer{}
				return ""
			})
		}
	}
	if o := s.orphan; o.tx != 0 {
		add("the server rolls back", -1, func(s *rowLockState) string {
			s.orphan = claimer{}
			s.release(o.tx)
			return ""
		})
		if o.commits {
			add("the server commits all the same", -1, func(s *rowLockState) string {
				s.orphan = claimer{}
				return m.commit(s, o)
			})
		}
	}
	return list
}

func (m rowLockMistakes) claim(s *rowLockState, p, limit int) string {
	c := claimer{tx: s.next}
	for r := range s.rows {
		row := &s.rows[r]
		if limit > 0 && row.place == inQueue && (row.owner == 0 || m.waitsNone) {
			row.owner = c.tx
			c.rows[r] = true
			limit--
		}
	}
	if c.rows == ([2]bool{}) {
		return ""
	}
	s.next++
	s.claimers[p] = c
	return ""
}

// finish removes a row.
func (s *rowLockState) finish(tx int8, r int) (broken string) {
	if s.rows[r].place == acked {
		return "a row was settled twice"
	}
	if s.rows[r].owner != tx {
		broken = "a row was settled without its lock"
	}
	s.rows[r].place = acked
	return broken
}

func (m rowLockMistakes) commit(s *rowLockState, c claimer) (broken string) {
	for r := range s.rows {
		if c.acks[r] && !m.outside {
			if b := s.finish(c.tx, r); b != "" {
				broken = b
			}
		} else if c.rows[r] && !m.outside && !c.acks[r] {
			broken = "a commit left out a row of its claim"
		}
	}
	s.release(c.tx)
	return broken
}

func (s *rowLockState) release(tx int8) {
	for r := range s.rows {
		if s.rows[r].owner == tx {
			s.rows[r].owner = 0
		}
	}
}

func (m rowLockMistakes) holds(s rowLockState) string {
	for r, row := range s.rows {
		holders := 0
		for _, c := range append(s.claimers[:], s.orphan) {
			if c.rows[r] && row.place == inQueue {
				holders++
			}
			if m.outside && c.acks[r] && c.tx != 0 && !c.commits && row.place == acked {
				return "an effect is seen before its transaction ends"
			}
		}
		if holders > 1 {
			return "two transactions hold one row"
		}
	}
	return ""
}

func TestRowLock(t *testing.T) { keeps(t, rowLockMistakes{}.spec()) }

func TestRowLockMistakes(t *testing.T) {
	for mistake, c := range map[string]struct {
		rowLockMistakes
		want string
	}{
		"a settlement outside of the transaction": {rowLockMistakes{outside: true}, "before its transaction ends"},
		"a claim that is settled in part":         {rowLockMistakes{partial: true}, "left out a row"},
		"a claim of locked rows":                  {rowLockMistakes{waitsNone: true}, "two transactions hold"},
	} {
		t.Run(mistake, func(t *testing.T) { breaks(t, c.spec(), c.want) })
	}
}
