// Command inbox-wasm runs WebAssembly handlers on the rows of queue tables in a team's own database.
package main

import "os"

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
