// Command accounts is a handler that opens an account for each sign-up and sends a welcome, or does neither.
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -o accounts.wasm ./examples/wasm/accounts/go
//
// The account is written in the transaction of the delivery, and so is the row for the mails: both are there with the
// end of the sign-up's row, or none of it is.
package main

import (
	"encoding/json"
	"errors"
	"fmt"

	inbox "github.com/inbox-wasm/inbox-wasm/guest-sdk/go"
)

func init() {
	inbox.Init(start)
	inbox.Handle(handle)
}

func main() {}

// statements are written in inbox.toml, in the SQL of its database.
var statements struct{ find, open string }

func start() error {
	if statements.find, statements.open = inbox.Config("find"), inbox.Config("open"); statements.find == "" || statements.open == "" {
		return errors.New("config: find and open have to be the statements that look for an account and open one")
	}
	return nil
}

type signUp struct {
	Email string `json:"email"`
	Name  string `json:"name"`
}

func handle(m *inbox.Message) error {
	var s signUp
	if err := json.Unmarshal(m.Payload(), &s); err != nil {
		return inbox.DeadLetter("the payload is no sign-up: " + err.Error())
	}
	if s.Email == "" {
		return inbox.DeadLetter("the sign-up has no email")
	}
	known, err := inbox.Tx.Query(statements.find, s.Email)
	if err != nil {
		return fmt.Errorf("look for the account: %w", err)
	}
	if len(known.Rows) > 0 {
		return inbox.Drop(s.Email + " has an account")
	}
	if _, err := inbox.Tx.Exec(statements.open, s.Email, s.Name); err != nil {
		return fmt.Errorf("open the account: %w", err)
	}
	welcome, err := json.Marshal(map[string]string{"to": s.Email, "text": "Welcome, " + s.Name + "!"})
	if err != nil {
		return err
	}
	return inbox.Publish("mails", &inbox.Publication{Payload: welcome, Group: "welcome"})
}
