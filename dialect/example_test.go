package dialect_test

import (
	"fmt"

	"github.com/inbox-wasm/inbox-wasm/dialect"
	"github.com/inbox-wasm/inbox-wasm/dialect/postgres"
	"github.com/inbox-wasm/inbox-wasm/dialect/sqlite"
)

// emails is a table whose columns play three roles.
var emails = &dialect.Table{
	Name:  "emails",
	ID:    []string{"id"},
	Roles: map[dialect.Role]string{dialect.Payload: "body", dialect.Attempt: "tries", dialect.Error: "last_error"},
	Columns: []dialect.Column{
		{Name: "id", Type: "bigint", Kind: dialect.Integer, Max: 1<<63 - 1},
		{Name: "body", Type: "text", Kind: dialect.Text},
		{Name: "tries", Type: "int", Kind: dialect.Integer, Max: 1<<31 - 1},
		{Name: "last_error", Type: "varchar(200)", Kind: dialect.Text, Nullable: true},
	},
}

// A builder numbers placeholders and keeps what they bind, so that text and values cannot come apart.
func ExampleBuilder() {
	b := &dialect.Builder{Numbered: true, Mark: ":"}
	b.Add("UPDATE emails SET tries = tries + 1 WHERE id = ", b.Bind(dialect.ID), " AND due <= ", b.Bind(dialect.Now))
	s := b.Statement()
	fmt.Print(s.Golden())
	// Output:
	// UPDATE emails SET tries = tries + 1 WHERE id = :1 AND due <= :2;
	// -- binds: id[0], now
}

// A grammar writes what most databases say alike, once it knows how one of them quotes and converts.
func ExampleGrammar() {
	g := dialect.Grammar{
		Quote: func(identifier string) string { return "[" + identifier + "]" },
		Typed: func(placeholder string, c dialect.Column) string {
			return "CAST(" + placeholder + " AS " + c.Type + ")"
		},
	}
	for _, s := range []dialect.Statement{g.Finish(emails), g.Return(emails)} {
		fmt.Print(s.Golden())
	}
	// Output:
	// DELETE FROM [emails] WHERE [id] = ?;
	// -- binds: id[0]
	// UPDATE [emails] SET [tries] = COALESCE(?, [tries]), [last_error] = COALESCE(CAST(? AS varchar(200)), [last_error]) WHERE [id] = ?;
	// -- binds: restore, reason, id[0]
}

// A statement about a list has one text for each length.
func ExampleStatement_Text() {
	s := dialect.Statement{SQL: "DELETE FROM emails WHERE id IN (" + dialect.ListMark + ")", Item: "?", ItemParams: []dialect.Param{{Name: dialect.ID}}}
	fmt.Println(s.Text(1))
	fmt.Println(s.Text(4))
	// Output:
	// DELETE FROM emails WHERE id IN (?)
	// DELETE FROM emails WHERE id IN (?, ?, ?, ?)
}

// The database renders the key of a lock. A row with NULL in it has a key of its own.
func ExampleKeyText() {
	text := dialect.KeyText{
		Literal: func(text string) string { return "'" + text + "'" },
		Column:  func(c dialect.Column) string { return "TO_CHAR(" + c.Name + ")" },
		Join:    func(parts []string) string { return "CONCAT(" + parts[0] + ", " + parts[1] + ")" },
	}
	t := *emails
	t.Key = []dialect.KeyPart{{Literal: "mail-"}, {Column: "last_error"}}
	fmt.Println(text.LockKey(&t))
	// Output:
	// COALESCE(CONCAT('mail-', TO_CHAR(last_error)), CONCAT('emails ', TO_CHAR(id)))
}

// A table that cannot be what its description says is refused with a reason and a remedy.
func ExampleTable_Check() {
	t := *emails
	t.Roles = map[dialect.Role]string{dialect.Payload: "body", dialect.LockedUntil: "tries", dialect.Group: "queue"}
	for _, flaw := range t.Check(postgres.New()) {
		fmt.Printf("%s: %s; %s\n", flaw.Role, flaw.What, flaw.Remedy)
	}
	// Output:
	// group: table emails has no column "queue"; name one of its columns: id, body, tries, last_error
	// locked_until: column "tries" of table emails has type int, which cannot play locked_until; it needs a type that holds time
}

// almostPostgres speaks as PostgreSQL does and has one of its forms: an embedded interface passes on its
// own methods alone, where an embedded postgres.Dialect would pass on every form.
type almostPostgres struct{ dialect.Lease }

// Name implements [dialect.Dialect].
func (almostPostgres) Name() string { return "AlmostPostgres" }

// A dialect has the forms whose interfaces it implements. A table in another form is refused before
// anything runs.
func Example_forms() {
	for _, d := range []dialect.Dialect{postgres.New(), sqlite.New(), almostPostgres{postgres.New()}} {
		_, lease := d.(dialect.Lease)
		_, rowLock := d.(dialect.RowLock)
		_, advisory := d.(dialect.Advisory)
		fmt.Printf("%s: lease %t, row lock %t, advisory %t\n", d.Name(), lease, rowLock, advisory)
	}
	// Output:
	// PostgreSQL: lease true, row lock true, advisory true
	// SQLite: lease true, row lock false, advisory true
	// AlmostPostgres: lease true, row lock false, advisory false
}

// A lease form answers from one statement where the database can say what it changed.
func ExampleLease() {
	t := *emails
	t.Roles = map[dialect.Role]string{dialect.Payload: "body", dialect.LockedUntil: "locked_until"}
	t.Columns = append(t.Columns[:2:2], dialect.Column{Name: "locked_until", Type: "timestamptz", Kind: dialect.Time, Nullable: true, Precision: 6})
	claim := sqlite.New().LeaseClaim(&t, dialect.Selection{})
	fmt.Print(claim.Take.Golden())
	fmt.Println("a second step:", claim.Stamp != nil)
	// Output:
	// UPDATE "emails" SET "locked_until" = ? WHERE "id" IN (SELECT "id" FROM "emails" WHERE typeof("id") NOT IN ('blob', 'null') AND ("locked_until" IS NULL OR "locked_until" <= ?) ORDER BY "id" LIMIT ?) RETURNING "id", CAST("locked_until" AS CHAR), "body";
	// -- binds: expiry, now, limit
	// -- answers: id[0], token, payload
	// a second step: false
}
