package main

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/headrace/headrace/dlq/export"
	"github.com/headrace/headrace/dlq/redrive"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/ledger/resolve"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/schedule"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/txn"
)

// Exit statuses. Scripts depend on them: they never change.
const (
	exitDone         = 0
	exitFailed       = 1
	exitUsage        = 2
	exitPartial      = 3
	exitNotPermitted = 4
	exitRefused      = 5
	exitPaused       = 6
	exitInterrupted  = 130 // as of a program that SIGINT has ended
)

// exitStatuses says what each status means, for the help.
var exitStatuses = []struct {
	status int
	says   string
}{
	{exitDone, "done"},
	{exitFailed, "failed or not found; check found a broken rule; inbox missing found missing keys"},
	{exitUsage, "wrong usage, and nothing was done"},
	{exitPartial, "done in part; status found open dead letters or a warning"},
	{exitNotPermitted, "the database does not permit it to this login"},
	{exitRefused, "refused, and nothing was done: the answer was no, or the schema or the state does not allow it"},
	{exitPaused, "a redrive has paused"},
	{exitInterrupted, "interrupted; the last line says what goes on, and how to go on"},
}

// exitTable returns the meanings, one a line.
func exitTable() string {
	var lines []string
	for _, e := range exitStatuses {
		lines = append(lines, fmt.Sprintf("  %3d  %s", e.status, e.says))
	}
	return strings.Join(lines, "\n")
}

// usageError is a mistake in the command line; nothing was done.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

func usagef(format string, args ...any) error {
	return &usageError{fmt.Sprintf(format, args...)}
}

// errIncomplete is the end of a command that has printed itself what is missing.
var errIncomplete = errors.New("done in part")

// errFound is the end of a command that has printed itself what it found.
var errFound = errors.New("found")

// errPaused is the end of a command that has printed itself what has paused.
var errPaused = errors.New("paused")

// errInterrupted is the end of a command that the user stopped.
var errInterrupted = errors.New("interrupted")

// saidItself reports whether err is the end of a command that has printed itself what is to be known.
func saidItself(err error) bool {
	return errors.Is(err, errIncomplete) || errors.Is(err, errFound) || errors.Is(err, errPaused) || errors.Is(err, errDryRun)
}

// leadOn says what comes after an error.
func (m *Main) leadOn(err error) {
	switch m.refused = false; {
	case m.later != "":
		m.next("%s", m.later)
	case errors.Is(err, instance.ErrNoAnswer), errors.Is(err, instance.ErrLost):
		m.next("consumer ls")
	}
}

// exit prints err, the error of that command, and returns its exit status.
func (m *Main) exit(err error, command string) int {
	var usage *usageError
	var partial *redrive.PartialError
	switch {
	case err == nil, errors.Is(err, errClosedPipe), errors.Is(err, errDryRun):
		return exitDone
	case errors.Is(err, errIncomplete):
		return exitPartial
	case errors.Is(err, errPaused):
		return exitPaused
	case errors.Is(err, errFound):
		return exitFailed
	case !m.started, errors.As(err, &usage), errors.Is(err, redrive.ErrInvalid), errors.Is(err, resolve.ErrInvalid):
		m.say("%v", err)
		m.say("see `%s -h`", command)
		return exitUsage
	case errors.Is(err, errInterrupted):
		m.say("%v", err)
		return exitInterrupted
	case errors.As(err, &partial) && partial.Done+partial.Unknown > 0:
		m.say("%v", err)
		return exitPartial
	case errors.Is(err, errRefused), errors.Is(err, instance.ErrRefused), errors.Is(err, instance.ErrNoAnswer), errors.Is(err, store.ErrSchema), errors.Is(err, redrive.ErrKeyTaken), errors.Is(err, export.ErrFile), errors.Is(err, resolve.ErrRefused), errors.Is(err, outbox.ErrPublished),
		errors.Is(err, schedule.ErrBusy), errors.Is(err, ledger.ErrUnknown), errors.Is(err, ledger.ErrNoSignal), errors.Is(err, ledger.ErrInput):
		m.say("refused: %v", err)
		m.leadOn(err)
		return exitRefused
	case txn.NotPermitted(err), errors.Is(err, fs.ErrPermission):
		m.say("not permitted: %v%s", err, needs(err, m.role))
		return exitNotPermitted
	}
	m.say("%v", err)
	m.leadOn(err)
	return exitFailed
}
