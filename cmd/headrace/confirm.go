package main

import (
	"bufio"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// yesFlag adds the flag of a command that asks.
func yesFlag(c *cobra.Command, to *bool) { c.Flags().BoolVarP(to, "yes", "y", false, "do not ask") }

// errRefused says that the user answered no.
var errRefused = errors.New("nothing was done")

// mayAsk returns an error, before the command does anything, if it could not confirm
// later.
func (m *Main) mayAsk(yes, stdinUsed bool) error {
	switch {
	case yes || m.dryRun:
		return nil
	case stdinUsed:
		return usagef("ids are read from stdin, so it cannot be used to confirm; confirm with --yes")
	case !m.Terminal(m.Stdin):
		return usagef("stdin is no terminal, so it cannot be used to confirm; confirm with --yes")
	}
	return nil
}

// confirm asks the user, and returns errRefused unless the answer is yes.
func (m *Main) confirm(yes bool, format string, args ...any) error {
	if yes {
		return nil
	}
	switch strings.ToLower(m.answer(fmt.Sprintf(format, args...) + " [y/N]")) {
	case "y", "yes":
		return nil
	}
	return errRefused
}

// confirmName asks the user to type a name, and returns errRefused unless same says that the
// answer is that name.
func (m *Main) confirmName(name string, same func(answer string) bool, format string, args ...any) error {
	if answer := m.answer(fmt.Sprintf(format, args...) + fmt.Sprintf(" Type %s to go on:", name)); answer == "" || !same(answer) {
		return errRefused
	}
	return nil
}

// answer returns the user's answer; "" if there is none.
func (m *Main) answer(question string) string {
	m.flush()
	_, _ = fmt.Fprint(m.Stderr, visible(question)+" ")
	answer, _ := bufio.NewReader(m.Stdin).ReadString('\n')
	return strings.TrimSpace(answer)
}
