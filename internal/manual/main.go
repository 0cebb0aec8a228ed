// Command manual writes the manual pages of the program and the completions for shells into a folder, as its commands
// describe themselves. SOURCE_DATE_EPOCH is the pages' date.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra/doc"

	"github.com/inbox-wasm/inbox-wasm/cmd/inbox-wasm/command"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "manual: usage: manual VERSION FOLDER")
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "manual:", err)
		os.Exit(1)
	}
}

func write(version, folder string) error {
	pages, completions := filepath.Join(folder, "man"), filepath.Join(folder, "completions")
	if err := errors.Join(os.MkdirAll(pages, 0o755), os.MkdirAll(completions, 0o755)); err != nil {
		return err
	}
	root := command.Root()
	root.DisableAutoGenTag = true
	header := &doc.GenManHeader{Section: "1", Source: "inbox-wasm " + version, Manual: "inbox-wasm"}
	if err := doc.GenManTree(root, header, pages); err != nil {
		return err
	}
	file := func(name string) string { return filepath.Join(completions, name) }
	return errors.Join(
		root.GenBashCompletionFileV2(file("inbox-wasm.bash"), true),
		root.GenZshCompletionFile(file("_inbox-wasm")),
		root.GenFishCompletionFile(file("inbox-wasm.fish"), true),
		root.GenPowerShellCompletionFileWithDesc(file("inbox-wasm.ps1")),
	)
}
