package main

import (
	"bufio"
	"errors"
	"fmt"
	"strings"
)

// errRefused says that the user answered no.
var errRefused = errors.New("nothing was done")

// mayAsk returns an error, before the command does anything, if it could not confirm
// later.
func (m *Main) mayAsk(yes, stdinUsed bool) error {
	switch {
	case yes:
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
	_, _ = fmt.Fprint(m.Stderr, visible(fmt.Sprintf(format, args...))+" [y/N] ")
	answer, err := bufio.NewReader(m.Stdin).ReadString('\n')
	if err != nil && answer == "" {
		return errRefused
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	return errRefused
}
