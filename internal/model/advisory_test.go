package model

import "testing"

// The advisory lock form: two rows of one key. A process locks the key on its session, takes a row, has it handled, settles it
// on that session, and unlocks. The server releases the locks of a session that ends, and runs nothing of it any more; its
// process learns so later.

const advisoryTakes = 3 // of a row

type advisoryRow struct {
	place   place
	attempt int8
}

// keeper is a process with its session.
type keeper struct {
	session int8 // its number
	lost    bool // the server has ended it
	locked  int8 // how often it has the key
	work    [2]delivery
}

type delivery struct {
	phase   phase
	session int8 // that holds the key for it
}

type phase uint8

const (
	idle phase = iota
	locked
	taken
	handled
	settled // and not unlocked yet
)

type advisoryState struct {
	rows    [2]advisoryRow
	keepers [2]keeper
	owner   int8 // the session that has the key, 0 for none
	count   int8 // how often: locks of a session are re-entrant
	next    int8
}

// advisoryMistakes are mistakes that the form does not make.
type advisoryMistakes struct {
	noRegistry   bool // a process asks the server alone whether a key is free
	elsewhere    bool // a settlement runs on whatever session there is
	unlocksFirst bool // the key is released before the row is settled
}

func (m advisoryMistakes) spec() spec[advisoryState] {
	s := advisoryState{next: 3}
	for i := range s.rows {
		s.rows[i].attempt = 1
		s.keepers[i].session = int8(i + 1)
	}
	return spec[advisoryState]{s, m.steps, m.holds}
}

func (m advisoryMistakes) steps(s advisoryState) (list []step[advisoryState]) {
	add := func(what string, p, r int, change func(s *advisoryState) string) {
		to := s
		broken := change(&to)
		list = append(list, step[advisoryState]{name("%s: process %d, row %d", what, p, r), to, broken})
	}
	for p, k := range s.keepers {
		if !k.lost {
			add("the session is lost", p, -1, func(s *advisoryState) string { s.end(p); return "" })
		} else if s.next < 7 {
			add("the loss is noticed", p, -1, func(s *advisoryState) string {
				s.keepers[p] = keeper{session: s.next}
				s.next++
				return ""
			})
		}
		for r, d := range k.work {
			row := s.rows[r]
			switch d.phase {
			case idle:
				free := s.owner == 0 || m.noRegistry && s.owner == k.session
				if row.place == inQueue && !k.lost && free && (m.noRegistry || k.locked == 0) && row.attempt <= advisoryTakes {
					add("lock", p, r, func(s *advisoryState) string {
						s.owner = k.session
						s.count++
						s.keepers[p].locked++
						s.keepers[p].work[r] = delivery{locked, k.session}
						return ""
					})
				}
			case locked:
				if !k.lost {
					add("take", p, r, func(s *advisoryState) string {
						if row.place != inQueue { // somebody was faster: the key is given back
							s.unlock(p, r)
							return ""
						}
						s.rows[r].attempt++
						s.keepers[p].work[r].phase = taken
						return ""
					})
				}
			case taken:
				add("handle", p, r, func(s *advisoryState) string { s.keepers[p].work[r].phase = handled; return "" })
			case handled:
				if m.unlocksFirst && !k.lost {
					add("unlock", p, r, func(s *advisoryState) string {
						s.unlock(p, r)
						s.keepers[p].work[r].phase = settled // the settlement follows
						return ""
					})
				} else if !k.lost || m.elsewhere {
					add("ack", p, r, func(s *advisoryState) string { return s.ack(p, r, settled) })
				}
			case settled:
				if m.unlocksFirst {
					add("ack", p, r, func(s *advisoryState) string { return s.ack(p, r, idle) })
				} else if !k.lost {
					add("unlock", p, r, func(s *advisoryState) string { s.unlock(p, r); return "" })
				}
			}
		}
	}
	return list
}

// end is the end of a process's session on the server.
func (s *advisoryState) end(p int) {
	k := &s.keepers[p]
	k.lost = true
	if s.owner == k.session {
		s.owner, s.count = 0, 0
	}
}

func (s *advisoryState) unlock(p, r int) {
	s.keepers[p].locked--
	s.keepers[p].work[r] = delivery{}
	if s.count--; s.count == 0 {
		s.owner = 0
	}
}

// ack removes the row by its key alone, whatever else is in it.
func (s *advisoryState) ack(p, r int, after phase) (broken string) {
	if s.rows[r].place != inQueue {
		return "" // there is nothing to remove
	}
	if s.owner != s.keepers[p].work[r].session {
		broken = "a row was settled by a process that did not have its key"
	}
	s.rows[r].place = acked
	s.keepers[p].work[r].phase = after
	return broken
}

func (m advisoryMistakes) holds(s advisoryState) string {
	working := 0
	for _, k := range s.keepers {
		for _, d := range k.work {
			if !k.lost && (d.phase == taken || d.phase == handled) && !m.unlocksFirst {
				working++
			}
		}
	}
	if working > 1 {
		return "two rows of one key are in work"
	}
	return ""
}

func TestAdvisory(t *testing.T) { keeps(t, advisoryMistakes{}.spec()) }

func TestAdvisoryMistakes(t *testing.T) {
	for mistake, c := range map[string]struct {
		advisoryMistakes
		want string
	}{
		"no registry of keys":                  {advisoryMistakes{noRegistry: true}, "two rows of one key"},
		"a settlement on another session":      {advisoryMistakes{elsewhere: true}, "did not have its key"},
		"an unlock in front of the settlement": {advisoryMistakes{unlocksFirst: true}, "did not have its key"},
	} {
		t.Run(mistake, func(t *testing.T) { breaks(t, c.spec(), c.want) })
	}
}
