// Package accounts tests the example.
package accounts

import (
	"testing"

	"github.com/inbox-wasm/inbox-wasm/internal/testdb"
	"github.com/inbox-wasm/inbox-wasm/internal/testexample"
	"github.com/inbox-wasm/inbox-wasm/internal/testwasm"
)

// Each sign-up comes to an account and a welcome together, and what comes to neither is where it should be.
func TestAccounts(t *testing.T) {
	cache := t.TempDir()
	testdb.Each(t, func(t *testing.T, db testdb.Database) {
		e := testexample.New(t, db, "inbox.toml", cache)
		if db.Name == "postgres" {
			t.Setenv("FIND", "SELECT 1 FROM accounts WHERE email = $1")
			t.Setenv("OPEN", "INSERT INTO accounts (email, name) VALUES ($1, $2)")
		}
		e.Copy("accounts.wasm", testwasm.Go(t, "go"))
		e.Run("", "schema", "--apply")
		e.SQL("CREATE TABLE accounts (email varchar(100) PRIMARY KEY, name varchar(20) NOT NULL CHECK (name <> 'Mallory'))")
		for _, signUp := range []string{`{"email":"ada@example.com","name":"Ada"}`, `{"email":"bob@example.com","name":"Bob"}`, `{"email":"ada@example.com","name":"Ada again"}`,
			`{"email":"m@example.com","name":"Mallory"}`, `{"name":"Nobody"}`, `no JSON`} {
			e.Run(signUp, "enqueue", "signups", "--group", "accounts")
		}
		e.Run("", "check")
		e.Run("", "serve", "--until-empty")
		e.Equal("the accounts", "SELECT email, name FROM accounts ORDER BY email", "ada@example.com|Ada\nbob@example.com|Bob\n")
		e.Equal("the welcomes", "SELECT name, "+e.Text("payload")+" FROM mails ORDER BY id",
			`welcome|{"text":"Welcome, Ada!","to":"ada@example.com"}`+"\n"+`welcome|{"text":"Welcome, Bob!","to":"bob@example.com"}`+"\n")
		e.Equal("the dead letters", "SELECT "+e.Text("count(*)")+" FROM signups WHERE name = 'failed'", "2\n")
		e.Equal("what is tried again", "SELECT "+e.Text("count(*)")+" FROM signups WHERE name = 'accounts' AND last_error LIKE 'open the account:%'", "1\n")
	})
}
