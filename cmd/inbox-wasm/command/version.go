package command

import (
	"cmp"
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/inbox-wasm/inbox-wasm/abi"
	"github.com/inbox-wasm/inbox-wasm/host"
)

// release and commit are what a release build sets with -ldflags
// "-X github.com/inbox-wasm/inbox-wasm/cmd/inbox-wasm/command.release=..". Without a commit it is what Go knows of the
// folder that it built in.
var (
	release = "dev"
	commit  string
)

type versions struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
	Go      string `json:"go"`
	Engine  string `json:"engine"`
	ABI     string `json:"abi"`
}

func (p *program) version() *cobra.Command {
	return p.withJSON(&cobra.Command{
		Use:     "version",
		Short:   "Print version, commit, engine and ABI",
		Example: "  inbox-wasm version --json",
		Args:    exactly(),
		RunE: func(*cobra.Command, []string) error {
			v := readVersions()
			if p.json {
				return p.printJSON(v)
			}
			_, err := fmt.Fprintf(p.stdout, "inbox-wasm %s\ncommit     %s\n%s\nengine     %s\nABI        %s\n", v.Version, v.Commit, "go         "+v.Go, v.Engine, v.ABI)
			return err
		},
	})
}

// build is what the metrics say of the program.
func (v versions) build() host.Build {
	return host.Build{Version: v.Version, Commit: v.Commit, Engine: v.Engine, ABI: v.ABI}
}

func readVersions() versions {
	v := versions{Version: release, Commit: cmp.Or(commit, "unknown"), Engine: "wazero", ABI: abi.Module}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	v.Go = info.GoVersion
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && commit == "" {
			v.Commit = s.Value
		}
	}
	for _, m := range info.Deps {
		if m.Path == "github.com/tetratelabs/wazero" {
			v.Engine += " " + m.Version
		}
	}
	return v
}
