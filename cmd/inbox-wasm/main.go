// Command inbox-wasm runs WebAssembly handlers on the rows of queue tables in a team's own database.
package main

import (
	"os"

	"github.com/inbox-wasm/inbox-wasm/cmd/inbox-wasm/command"
)

func main() {
	os.Exit(command.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
