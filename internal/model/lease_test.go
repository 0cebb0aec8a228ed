package model

import "testing"

// The lease form, with leases of whole ticks, which two claims of one tick cannot be told apart by: what the random digits of
// an expiry are for is left out, and the attempt has to do. A claim writes an expiry and counts the attempt, which together are the token; extension and settlement
// take effect while the row has the token. A statement is on its way until the server runs it, which may be after its sender
// has given up on the answer or has crashed.

const (
	leaseTime  = 2 // ticks
	leaseCap   = 1 // max_attempts
	mostClaims = 3 // of a row
)

type place uint8

const (
	inQueue place = iota
	acked
	dead
)

type leaseRow struct {
	place   place
	copies  uint8 // of the row over both tables, where a move is two transactions
	expiry  int8
	attempt int8 // of the next delivery
	owner   int8 // the claim that wrote the token
	claims  int8
	handled int8 // deliveries whose handler began
}

type statement uint8

const (
	none statement = iota
	extend
	ack
	giveBack // of a delivery that was not started: with its attempt
	bury
)

// message is a statement that the server has not run yet.
type message struct {
	what    statement
	claim   int8
	expiry  int8
	other   int8 // a second expiry that fences as well, 0 for none
	attempt int8
	until   int8 // what an extension writes
}

// hold is what a process knows of a row that it claimed.
type hold struct {
	claim   int8 // 0 for none
	expiry  int8
	other   int8 // what an extension without an answer may have written
	attempt int8
	began   bool
	sent    message // whose answer is awaited
	ran     bool    // the server has run it
	changed bool    // and answers that the row was held,
	got     int8    // with this expiry
}

type leaseState struct {
	now   int8
	row   leaseRow
	holds [2]hold
	late  message // that nobody waits for any more
	next  int8    // the number of the next claim
}

// leaseMistakes are mistakes that the form does not make.
type leaseMistakes struct {
	unfenced    bool // a settlement asks for no token
	ownerIsName bool // the token is the process's name
	again       bool // what was not answered is sent again
	twoSteps    bool // a dead letter is copied and removed in two transactions
	crashIsFree bool // a claim counts no attempt
}

// leaseSystem is the form with the mistakes, and until which tick it is looked at. There is one row: rows have nothing in
// common but the processes that crash.
type leaseSystem struct {
	leaseMistakes
	end int8
}

func (m leaseSystem) spec() spec[leaseState] {
	return spec[leaseState]{leaseState{next: 1, row: leaseRow{attempt: 1, copies: 1}}, m.steps, m.holds}
}

func (m leaseSystem) steps(s leaseState) (list []step[leaseState]) {
	add := func(what string, p int, change func(s *leaseState) string) {
		to := s
		broken := change(&to)
		list = append(list, step[leaseState]{name("%s: process %d, tick %d", what, p, s.now), to, broken})
	}
	if s.now < m.end {
		to := s
		to.now++
		list = append(list, step[leaseState]{name: name("tick %d", to.now), to: to})
	}
	for p, h := range s.holds {
		delivery := h.attempt - 1 // as its handler reads it
		if h.claim == 0 && s.row.place == inQueue && s.row.expiry <= s.now && s.row.claims < mostClaims {
			add("claim", p, func(s *leaseState) string { return m.claim(s, p) })
		}
		if h.claim != 0 && h.sent.what == none {
			if !h.began && delivery <= leaseCap && s.now < h.expiry {
				add("begin", p, func(s *leaseState) string {
					s.holds[p].began = true
					if s.row.handled++; s.row.handled > leaseCap {
						return "a row was handled more often than max_attempts"
					}
					return ""
				})
			}
			add("extend", p, func(s *leaseState) string { m.send(s, p, extend); return "" })
			if h.began {
				add("ack", p, func(s *leaseState) string { m.send(s, p, ack); return "" })
			} else if delivery <= leaseCap {
				add("give back", p, func(s *leaseState) string { m.send(s, p, giveBack); return "" })
			}
			if h.began && delivery == leaseCap || delivery > leaseCap {
				add("bury", p, func(s *leaseState) string { m.send(s, p, bury); return "" })
			}
		}
		if h.sent.what != none && !h.ran {
			add("run", p, func(s *leaseState) string {
				changed, broken := m.run(s, h.sent)
				s.holds[p].ran, s.holds[p].changed, s.holds[p].got = true, changed, s.row.expiry
				return broken
			})
		}
		if h.sent.what != none && h.ran {
			add("answer", p, func(s *leaseState) string { m.answer(s, p); return "" })
		}
		if h.sent.what != none && s.late.what == none {
			add("the answer is lost", p, func(s *leaseState) string { m.lose(s, p); return "" })
		}
		if h.claim != 0 {
			add("crash", p, func(s *leaseState) string {
				if h.sent.what != none && !h.ran && s.late.what == none {
					s.late = h.sent
				}
				s.holds[p] = hold{}
				return ""
			})
		}
	}
	if s.late.what != none {
		add("run late", 0, func(s *leaseState) string {
			late := s.late
			s.late = message{}
			_, broken := m.run(s, late)
			return broken
		})
		add("never run", 0, func(s *leaseState) string { s.late = message{}; return "" })
	}
	return list
}

func (m leaseSystem) claim(s *leaseState, p int) string {
	row := &s.row
	row.expiry = s.now + leaseTime
	if !m.crashIsFree {
		row.attempt++
	}
	row.claims++
	row.owner = s.next
	s.holds[p] = hold{claim: s.next, expiry: row.expiry, attempt: row.attempt}
	if m.crashIsFree {
		s.holds[p].attempt++ // as it reads its own count
	}
	s.next++
	return ""
}

func (m leaseSystem) send(s *leaseState, p int, what statement) {
	h := &s.holds[p]
	h.sent = message{what: what, claim: h.claim, expiry: h.expiry, other: h.other, attempt: h.attempt, until: s.now + leaseTime}
	h.ran, h.changed, h.got = false, false, 0
	if m.ownerIsName {
		h.sent.attempt = int8(p)
	}
}

// fenced reports whether a message's token is the row's.
func (m leaseSystem) fenced(s *leaseState, w message) bool {
	row := s.row
	switch {
	case row.place != inQueue:
		return false
	case m.unfenced:
		return true
	case m.ownerIsName:
		for q := range 2 {
			if s.holds[q].claim == row.owner {
				return int8(q) == w.attempt
			}
		}
		return false
	}
	attempt := w.attempt == row.attempt || m.crashIsFree && w.attempt == row.attempt+1
	return attempt && (row.expiry == w.expiry || w.other != 0 && row.expiry == w.other)
}

// run has the server run a statement.
func (m leaseSystem) run(s *leaseState, w message) (changed bool, broken string) {
	if !m.fenced(s, w) {
		return false, ""
	}
	row := &s.row
	// A late extension by a claim that was given back may prolong the next one of the same tick. It settles nothing.
	if row.owner != w.claim && w.what != extend {
		broken = "a row was changed by a claim that had lost it"
	}
	switch w.what {
	case extend:
		if row.expiry < w.until {
			row.expiry = w.until
		}
	case ack:
		row.place, row.owner = acked, 0
	case giveBack:
		row.expiry, row.owner, row.attempt = 0, 0, w.attempt-1
	case bury:
		row.owner = 0
		row.place = dead
		if m.twoSteps {
			row.copies++ // the removal is a message of its own, which is not modelled: it may be lost
		}
	}
	return true, broken
}

func (m leaseSystem) answer(s *leaseState, p int) {
	h := &s.holds[p]
	switch {
	case h.sent.what != extend, !h.changed: // settled, or the lease is lost
		*h = hold{}
	default:
		h.expiry, h.other = h.got, 0
		h.sent, h.ran, h.changed, h.got = message{}, false, false, 0
	}
}

// lose has the process give up on an answer. A settlement is not repeated; after an extension either expiry fences.
func (m leaseSystem) lose(s *leaseState, p int) {
	h := &s.holds[p]
	if !h.ran {
		s.late = h.sent
	}
	switch {
	case h.sent.what == extend:
		h.other, h.sent = max(h.expiry, h.sent.until), message{}
		h.ran, h.changed, h.got = false, false, 0
	case m.again:
		h.ran = false
	default:
		*h = hold{}
	}
}

func (m leaseSystem) holds(s leaseState) string {
	if s.row.copies != 1 {
		return "a row is there twice"
	}
	if s.row.place == acked && s.row.handled == 0 {
		return "a row was acked that nobody handled"
	}
	live := 0
	for _, h := range s.holds {
		if h.claim != 0 && h.sent.what == none && s.now < h.expiry && s.row.place == inQueue {
			live++
		}
	}
	if live > 1 {
		return "two processes hold one row by leases that last"
	}
	return ""
}

func TestLease(t *testing.T) { keeps(t, leaseSystem{end: 3}.spec()) }

func TestLeaseMistakes(t *testing.T) {
	for mistake, c := range map[string]struct {
		leaseMistakes
		want string
	}{
		"a settlement without its token": {leaseMistakes{unfenced: true}, "had lost it"},
		"a token per process":            {leaseMistakes{ownerIsName: true}, "had lost it"},
		"an answer asked for again":      {leaseMistakes{again: true}, "had lost it"},
		"a move in two transactions":     {leaseMistakes{twoSteps: true}, "twice"},
		"a claim that counts nothing":    {leaseMistakes{crashIsFree: true}, "max_attempts"},
	} {
		t.Run(mistake, func(t *testing.T) {
			breaks(t, leaseSystem{leaseMistakes: c.leaseMistakes, end: 3}.spec(), c.want)
		})
	}
}
