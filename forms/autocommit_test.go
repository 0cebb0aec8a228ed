package forms_test

import (
	"testing"
	"time"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/forms"
	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
)

// A statement of its own commits also where the server's sessions start without autocommit: a settlement that
// was answered is settled.
func TestSettlementsCommitOnServersWithoutAutocommit(t *testing.T) {
	url := testdb.MariaDB(t)
	outside := open(t, testdb.Database{Name: "mariadb", URL: url})
	table := create(t, outside, &dialect.Table{Name: "jobs", ID: []string{"id"}, Key: []dialect.KeyPart{{Literal: "k"}},
		Roles: roles(dialect.Attempt, dialect.Payload)})
	fill(t, outside, table, 1)
	s := open(t, testdb.Database{Name: "mariadb", URL: url + "?autocommit=0&completion_type=1"})
	a, err := forms.NewAdvisory(s, forms.Options{Table: table, Now: time.Now, Locks: forms.NewLocks()})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	settle(t, a, forms.Done, &forms.Settlement{Delivery: claimOne(t, a)})
	if _, err := a.Close(); err != nil {
		t.Error(err)
	}
	if n := count(t, outside, table); n != "0" {
		t.Errorf("%s rows are left of one that was acked", n)
	}
}
