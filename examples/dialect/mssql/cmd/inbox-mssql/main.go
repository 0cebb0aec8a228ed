// Command inbox-mssql is inbox-wasm with SQL Server beside the databases that come with it.
package main

import (
	"os"

	// _ "github.com/microsoft/go-mssqldb" // the driver: a program of your own imports it, this module does without

	"github.com/inbox-wasm/inbox-wasm/cmd/inbox-wasm/command"
	"github.com/inbox-wasm/inbox-wasm/examples/dialect/mssql"
)

func main() {
	os.Exit(command.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr, mssql.Database))
}
