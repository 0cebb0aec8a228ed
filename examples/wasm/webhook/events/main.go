// Command events writes sample webhook events as JSON Lines for the enqueue command:
//
//	go run ./examples/wasm/webhook/events -n 20000 -seed 1 -o events.jsonl
//
// With -expect it prints what the handler should make of them instead.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/inbox-wasm/inbox-wasm/examples/wasm/webhook/events/generator"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "events:", err)
		}
		os.Exit(1)
	}
}

func run(args []string, stdout io.Writer) (err error) {
	flags := flag.NewFlagSet("events", flag.ContinueOnError)
	var options generator.Options
	flags.IntVar(&options.Count, "n", 1000, "how many events")
	flags.Uint64Var(&options.Seed, "seed", 1, "the same seed makes the same events")
	// The default is the secret of GitHub's own example of a signature.
	flags.StringVar(&options.Secret, "secret", "It's a Secret to Everybody", "what the good events are signed with")
	flags.StringVar(&options.Group, "group", "", "the group of each message")
	expect := flags.Bool("expect", false, "print the expected counts instead of the events")
	name := flags.String("o", "", "the file to write; standard output where it is not given")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if options.Count < 0 {
		return fmt.Errorf("-n %d: a number of events is not negative", options.Count)
	}

	out := stdout
	if *name != "" {
		file, createErr := os.Create(*name)
		if createErr != nil {
			return createErr
		}
		// A file that cannot be closed may not be whole.
		defer func() { err = errors.Join(err, file.Close()) }()
		out = file
	}
	if *expect {
		return json.NewEncoder(out).Encode(generator.Expect(options.Count))
	}
	return generator.Write(out, options)
}
