package main

import (
	"context"
	"runtime/debug"

	"github.com/spf13/cobra"
)

type versionView struct {
	Module   string `json:"module"`
	Version  string `json:"version"`
	Go       string `json:"go"`
	Revision string `json:"revision,omitempty"`
	Time     string `json:"time,omitempty"`
	// Modified says that the build was made from a changed tree.
	Modified bool `json:"modified"`
}

func (m *Main) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "print which build this is", Args: noArgs,
		RunE: m.do(func(context.Context, []string) error {
			v := buildVersion()
			rows := [][]string{{"module", v.Module}, {"version", v.Version}, {"go", v.Go}}
			if v.Revision != "" {
				revision := v.Revision
				if v.Modified {
					revision += " (modified)"
				}
				rows = append(rows, []string{"revision", revision}, []string{"time", v.Time})
			}
			return m.emit("", v, nil, rows)
		}),
	}
}

func buildVersion() versionView {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return versionView{Module: "unknown", Version: "unknown"}
	}
	v := versionView{Module: info.Main.Path, Version: info.Main.Version, Go: info.GoVersion}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.time":
			v.Time = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}
