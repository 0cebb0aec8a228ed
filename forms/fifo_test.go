package forms_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/databases"
	"github.com/inbox-wasm/inbox-wasm/dialect/store"
	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// eachOrdered runs a test on a table whose groups keep their order, in each form and on every database
// that has it.
func eachOrdered(t *testing.T, run func(t *testing.T, db testdb.Database, s store.Store, table *dialect.Table)) {
	t.Helper()
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		s := open(t, db)
		for name, table := range map[string]*dialect.Table{"lease": leased(), "row lock": rowLocked()} {
			if _, ok := s.Dialect().(dialect.RowLock); !ok && name == "row lock" {
				continue
			}
			t.Run(name, func(t *testing.T) {
				table.FIFO = true
				create(t, s, table)
				t.Cleanup(func() { scriptAfter(t, s, "DROP TABLE "+s.Dialect().Quote(table.Name)) })
				if index := s.Dialect().Schema(table).GroupIndex; index != "" {
					script(t, s, index)
				}
				run(t, db, s, table)
			})
		}
	})
}

// scriptAfter is script for the end of a test.
func scriptAfter(t *testing.T, s store.Store, sql string) {
	t.Helper()
	if err := s.Script(context.WithoutCancel(t.Context()), sql); err != nil {
		t.Errorf("%s: %v", sql, err)
	}
}

// inOrder is the form over the table, which gives back at the end of the test what it still holds.
func inOrder(t *testing.T, s store.Store, table *dialect.Table, change ...func(*forms.Options)) *holder {
	t.Helper()
	o := forms.Options{Table: table, Group: "g", DeadGroup: "dead", FIFO: true, Lease: 30 * time.Second, Now: time.Now}
	for _, c := range change {
		c(&o)
	}
	form, err := forms.New(s, o)
	if err != nil {
		t.Fatal(err)
	}
	h := &holder{Form: form, held: map[*forms.Delivery]bool{}}
	t.Cleanup(func() {
		for d := range h.held {
			form.Settle(context.WithoutCancel(t.Context()), []*forms.Settlement{unstarted(d)})
		}
	})
	return h
}

// holder is a form that knows what it holds.
type holder struct {
	forms.Form
	held map[*forms.Delivery]bool
}

func (h *holder) Claim(ctx context.Context, limit int, ahead bool) ([]*forms.Delivery, error) {
	rows, err := h.Form.Claim(ctx, limit, ahead)
	for _, d := range rows {
		h.held[d] = true
	}
	return rows, err
}

func (h *holder) Settle(ctx context.Context, settlements []*forms.Settlement) []forms.Answer {
	for _, s := range settlements {
		delete(h.held, s.Delivery)
	}
	return h.Form.Settle(ctx, settlements)
}

func allGroups(o *forms.Options) { o.Group, o.AllGroups, o.Except = "", true, []string{"dead"} }

func TestFIFOTakesTheHeadAlone(t *testing.T) {
	eachOrdered(t, func(t *testing.T, _ testdb.Database, s store.Store, table *dialect.Table) {
		l := inOrder(t, s, table)
		fill(t, s, table, 3)
		head := claimOne(t, l)
		if got := string(head.Payload); got != "1" {
			t.Fatalf("the head is %s", got)
		}
		if rest := claim(t, l, 10); len(rest) != 0 {
			t.Fatalf("rows %s were claimed behind a head in work", payloads(rest))
		}
		settle(t, l, forms.Done, &forms.Settlement{Delivery: head})
		if got := payloads(claim(t, l, 10)); got != "2" {
			t.Fatalf("after the head came %q", got)
		}
	})
}

func TestFIFORetryKeepsTheHead(t *testing.T) {
	eachOrdered(t, func(t *testing.T, _ testdb.Database, s store.Store, table *dialect.Table) {
		l := inOrder(t, s, table)
		fill(t, s, table, 2)
		settle(t, l, forms.Done, &forms.Settlement{Delivery: claimOne(t, l), Change: forms.Return})
		again := claimOne(t, l)
		if string(again.Payload) != "1" || again.Attempt != 2 {
			t.Fatalf("after a retry came row %s, attempt %d", again.Payload, again.Attempt)
		}
	})
}

// A delayed head moves behind the rows that come due before it, and holds nobody up.
func TestFIFODelayedHeadMovesBack(t *testing.T) {
	eachOrdered(t, func(t *testing.T, _ testdb.Database, s store.Store, table *dialect.Table) {
		l := inOrder(t, s, table)
		fill(t, s, table, 2)
		settle(t, l, forms.Done, &forms.Settlement{Delivery: claimOne(t, l), Change: forms.Return, Until: time.Now().Add(time.Hour)})
		second := claimOne(t, l)
		if string(second.Payload) != "2" {
			t.Fatalf("row %s came", second.Payload)
		}
		settle(t, l, forms.Done, &forms.Settlement{Delivery: second})
		if rest := claim(t, l, 10); len(rest) != 0 {
			t.Fatalf("row %s came before its time", payloads(rest))
		}
	})
}

// graphile/worker#254: a head that has spent its attempts frees its group.
func TestFIFOSpentHeadFreesItsGroup(t *testing.T) {
	eachOrdered(t, func(t *testing.T, _ testdb.Database, s store.Store, table *dialect.Table) {
		l := inOrder(t, s, table, func(o *forms.Options) { o.MaxAttempts = 1 })
		fill(t, s, table, 2)
		settle(t, l, forms.Done, &forms.Settlement{Delivery: claimOne(t, l), Change: forms.MoveToGroup, Reason: "spent"})
		if got := payloads(claim(t, l, 10)); got != "2" {
			t.Fatalf("behind the dead letter came %q", got)
		}
	})
}

// A crash leaves the head held until its lease ends, or until the server rolls back; then it is still
// the head. A crash spends an attempt where the claim has counted it.
func TestFIFOCrashKeepsTheHead(t *testing.T) {
	eachOrdered(t, func(t *testing.T, db testdb.Database, s store.Store, table *dialect.Table) {
		crashed := inOrder(t, open(t, db), table, func(o *forms.Options) {
			o.Now = func() time.Time { return time.Now().Add(-time.Minute) }
		})
		fillAt(t, s, table, 2, time.Now().Add(-time.Hour))
		claimOne(t, crashed)
		attempt := int64(2)
		if !table.Has(dialect.LockedUntil) {
			attempt = 1
			kill(t, s)
		}
		next := inOrder(t, s, table)
		var again []*forms.Delivery
		eventually(t, func() string {
			again = claim(t, next, 1)
			return payloads(again)
		})
		if string(again[0].Payload) != "1" || again[0].Attempt != attempt {
			t.Fatalf("after the crash came row %s, attempt %d", again[0].Payload, again[0].Attempt)
		}
	})
}

// fillAt is fill with rows that have been due since some time.
func fillAt(t *testing.T, s store.Store, table *dialect.Table, n int, due time.Time) {
	t.Helper()
	fill(t, s, table, n)
	d := s.Dialect()
	script(t, s, fmt.Sprintf("UPDATE %s SET %s = '%s'", d.Quote(table.Name), d.Quote("retry_after"), d.FormatTime(due, 6)))
}

// A row that is committed late and sorts first waits while a row of its group is in work.
func TestFIFOWaitsForARowThatWasCommittedFirst(t *testing.T) {
	eachOrdered(t, func(t *testing.T, _ testdb.Database, s store.Store, table *dialect.Table) {
		l := inOrder(t, s, table)
		fill(t, s, table, 1)
		inWork := claimOne(t, l)
		urgent := int64(-1)
		write(t, s, table, forms.Message{Group: "g", Payload: []byte("first"), Priority: &urgent})
		if rest := claim(t, l, 10); len(rest) != 0 {
			t.Fatalf("row %s was claimed beside a row of its group", payloads(rest))
		}
		settle(t, l, forms.Done, &forms.Settlement{Delivery: inWork})
		if got := payloads(claim(t, l, 10)); got != "first" {
			t.Fatalf("then came %q", got)
		}
	})
}

func TestFIFOAllGroupsTakesOneHeadOfEach(t *testing.T) {
	eachOrdered(t, func(t *testing.T, _ testdb.Database, s store.Store, table *dialect.Table) {
		l := inOrder(t, s, table, allGroups)
		const groups, limit = 300, 40
		var messages []forms.Message
		for n := range 2 {
			for g := range groups {
				messages = append(messages, forms.Message{Group: fmt.Sprintf("g%03d", g), Payload: []byte(strconv.Itoa(n))})
			}
		}
		write(t, s, table, append(messages, forms.Message{Group: "dead", Payload: []byte("dead")})...)
		seen := map[string]bool{}
		for len(seen) < groups {
			rows := claim(t, l, limit)
			if !table.Has(dialect.LockedUntil) {
				// A head in work holds a connection: settle it with a delay, so that its group waits.
				settle(t, l, forms.Done, settlements(rows, func(d *forms.Delivery) *forms.Settlement {
					return &forms.Settlement{Delivery: d, Change: forms.Return, Until: time.Now().Add(time.Hour)}
				})...)
			}
			if len(rows) == 0 {
				t.Fatalf("claims ended after %d of %d groups", len(seen), groups)
			}
			for _, d := range rows {
				if seen[d.Group] || string(d.Payload) != "0" || d.Group == "dead" {
					t.Fatalf("row %s of group %s came, seen before: %v", d.Payload, d.Group, seen[d.Group])
				}
				seen[d.Group] = true
			}
		}
		if rest := claim(t, l, limit); len(rest) != 0 && table.Has(dialect.LockedUntil) {
			t.Fatalf("%d rows were claimed of groups in work", len(rest))
		}
	})
}

// Several holders work on the groups of one table while rows arrive: the rows of a group never overlap
// and keep their order.
func TestFIFOKeepsOrderAcrossHolders(t *testing.T) {
	eachOrdered(t, func(t *testing.T, db testdb.Database, s store.Store, table *dialect.Table) {
		const groups, perGroup, holders = 10, 20, 4
		var messages []forms.Message
		for n := range perGroup {
			for g := range groups {
				messages = append(messages, forms.Message{Group: fmt.Sprintf("g%d", g), Payload: []byte(strconv.Itoa(n))})
			}
		}
		write(t, s, table, messages...)
		var mu sync.Mutex
		inWork, next, done := map[string]bool{}, map[string]int{}, 0
		begin := func(d *forms.Delivery) {
			mu.Lock()
			defer mu.Unlock()
			if inWork[d.Group] {
				t.Errorf("group %s has two rows in work", d.Group)
			}
			inWork[d.Group] = true
			if want := strconv.Itoa(next[d.Group]); string(d.Payload) != want {
				t.Errorf("group %s: row %s came, want %s", d.Group, d.Payload, want)
			}
			next[d.Group]++
		}
		finished := func(ds []*forms.Delivery) (all bool) {
			mu.Lock()
			defer mu.Unlock()
			for _, d := range ds {
				inWork[d.Group] = false
				done++
			}
			return done == groups*perGroup
		}
		var work sync.WaitGroup
		for range holders {
			l := inOrder(t, open(t, db), table, allGroups)
			work.Go(func() {
				for t.Context().Err() == nil && !t.Failed() {
					rows, err := l.Claim(t.Context(), 3, false)
					if err != nil {
						t.Error(err)
						return
					}
					settlements := make([]*forms.Settlement, len(rows))
					for i, d := range rows {
						begin(d)
						settlements[i] = &forms.Settlement{Delivery: d}
					}
					all := finished(rows) // before the settlement: afterwards the next row may begin
					for len(settlements) > 0 {
						var again []*forms.Settlement
						for i, answer := range l.Settle(t.Context(), settlements) {
							switch answer.State {
							case forms.Done:
							case forms.Busy:
								again = append(again, settlements[i])
							default:
								t.Errorf("settlement: %v %v", answer.State, answer.Err)
							}
						}
						settlements = again
					}
					if all {
						return
					}
					mu.Lock()
					over := done == groups*perGroup
					mu.Unlock()
					if over {
						return
					}
				}
			})
		}
		work.Wait()
		if done != groups*perGroup {
			t.Errorf("%d of %d rows were delivered", done, groups*perGroup)
		}
	})
}

func TestFIFONeedsAGroupInEveryRow(t *testing.T) {
	each(t, func(t *testing.T, s store.Store) {
		script(t, s, "CREATE TABLE jobs (id integer PRIMARY KEY, name varchar(40), locked_until "+
			map[string]string{"PostgreSQL": "timestamptz", "MySQL": "datetime(6)", "SQLite": "text"}[s.Dialect().Name()]+", payload varchar(40))")
		table := &dialect.Table{Name: "jobs", ID: []string{"id"}, FIFO: true, Roles: map[dialect.Role]string{
			dialect.Group: "name", dialect.LockedUntil: "locked_until", dialect.Payload: "payload"}}
		describe(t, s, table)
		if _, err := forms.NewLease(s, forms.Options{Table: table, Group: "g", FIFO: true, Lease: time.Second, Now: time.Now}); err == nil {
			t.Fatal("a group that may be NULL was accepted")
		}
	})
}

// A group that nobody works on is found behind any number of groups whose heads another process has locked.
func TestFIFOFindsAFreeGroupBehindThoseInWorkElsewhere(t *testing.T) {
	eachOrdered(t, func(t *testing.T, db testdb.Database, s store.Store, table *dialect.Table) {
		const busy = 30
		wide, err := databases.Open(t.Context(), databases.Builtin(), db.URL, store.Options{MaxConnections: busy + 1})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := wide.Close(); err != nil {
				t.Error(err)
			}
		})
		for i := range busy {
			write(t, s, table, forms.Message{Group: fmt.Sprintf("g%02d", i), Payload: []byte("busy")})
		}
		other := inOrder(t, wide, table, allGroups)
		for range busy {
			claimOne(t, other)
		}
		write(t, s, table, forms.Message{Group: "last", Payload: []byte("free")})
		if got := payloads(claim(t, inOrder(t, s, table, allGroups), 1)); got != "free" {
			t.Errorf("the first claim took %q", got)
		}
	})
}

// Groups that their column takes for one, such as 'a' and 'A', have one row in work.
func TestFIFOTellsGroupsApartAsTheirColumnDoes(t *testing.T) {
	eachOrdered(t, func(t *testing.T, db testdb.Database, s store.Store, table *dialect.Table) {
		if db.Name != "mariadb" {
			t.Skip("texts are compared by their bytes")
		}
		write(t, s, table, forms.Message{Group: "a", Payload: []byte("1")})
		one, two := inOrder(t, s, table, allGroups), inOrder(t, s, table, allGroups)
		head := claimOne(t, one)
		before := int64(-1)
		group := "A "
		if realMySQL(t, s) {
			group = "A" // its usual collation counts spaces
		}
		write(t, s, table, forms.Message{Group: group, Payload: []byte("2"), Priority: &before})
		if got := payloads(claim(t, two, 1)); got != "" {
			t.Errorf("row %s of a group in work was claimed", got)
		}
		settle(t, one, forms.Done, &forms.Settlement{Delivery: head})
		if got := payloads(claim(t, two, 1)); got != "2" {
			t.Errorf("after the head came %q", got)
		}
	})
}
