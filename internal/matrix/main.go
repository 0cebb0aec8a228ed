// Command matrix writes docs/matrix.md from the results of the tests:
//
//	go test -json ./forms/... ./host/... ./internal/e2e/... >results.json
//	go run ./internal/matrix -results results.json -mysql mysql.json -out docs/matrix.md
//
// It has a cell for each behaviour, form and database. A cell without a test has its reason; a cell whose
// tests did not run, or failed, fails the program. `make matrix` does all of it.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
)

func main() {
	results := flag.String("results", "", "the output of go test -json")
	mysql := flag.String("mysql", "", "the same of a run in which the MariaDB server was a MySQL; empty for none")
	out := flag.String("out", "docs/matrix.md", "the file to write")
	flag.Parse()
	if err := run(*results, *mysql, *out); err != nil {
		fmt.Fprintln(os.Stderr, "matrix:", err)
		os.Exit(1)
	}
}

func run(results, mysql, out string) error {
	r := newRecord()
	if err := r.read(results, nil); err != nil {
		return err
	}
	if mysql != "" {
		// The tests call the server by the name that they have for its kind.
		if err := r.read(mysql, map[string]string{"mariadb": "mysql"}); err != nil {
			return err
		}
	}
	text, failures := render(r, mysql != "")
	if err := os.WriteFile(out, []byte(text), 0o644); err != nil {
		return err
	}
	return errors.Join(failures...)
}
