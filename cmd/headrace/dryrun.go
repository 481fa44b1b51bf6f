package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

// errDryRun is the end of a command that has said what it would do.
var errDryRun = errors.New("nothing was done: it is a dry run")

// dryRunView is what a command would do, as JSON.
type dryRunView struct {
	DryRun bool   `json:"dry_run"`
	Would  string `json:"would"`
	Count  int64  `json:"chosen"`
}

// writes gives a command that writes the flag --dry-run: it then ends at would.
func (m *Main) writes(c *cobra.Command) *cobra.Command {
	c.Flags().BoolVar(&m.dryRun, "dry-run", false, "only say what would be done")
	return c
}

// would comes before the first write of a command. With --dry-run it prints what the command would do
// to n items, and returns errDryRun; otherwise it does nothing.
func (m *Main) would(n int64, format string, args ...any) error {
	if !m.dryRun {
		return nil
	}
	does := fmt.Sprintf(format, args...)
	if err := m.emit("", dryRunView{true, does, n}, nil, [][]string{{"would " + does}}); err != nil {
		return err
	}
	return errDryRun
}
