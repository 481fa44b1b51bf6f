package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
)

func (m *Main) inboxCommand() *cobra.Command {
	show := &cobra.Command{
		Use: "show KEY", Short: "say where the messages with this key are, in every scope", Args: one("KEY"),
		RunE: m.do(func(ctx context.Context, args []string) error {
			return m.withStore(ctx, func(st openStore) error { return m.showKey(ctx, st, args[0]) })
		}),
	}
	return m.parent("inbox", "look at where messages are", show, m.missingCommand())
}

// entryView is an inbox row as JSON.
type entryView struct {
	Scope       string        `json:"scope"`
	Key         string        `json:"key"`
	State       inbox.State   `json:"state"`
	Since       time.Time     `json:"since"`
	Fingerprint string        `json:"fingerprint"`
	Stale       bool          `json:"stale"`
	Runs        []attemptView `json:"runs"`
	Letters     []int64       `json:"letters"`
}

func (m *Main) showKey(ctx context.Context, st openStore, key string) error {
	entries, err := st.Inbox().Find(ctx, key)
	if err != nil {
		return fmt.Errorf("show key: %w", err)
	}
	letters, err := listLetters(ctx, dlq.NewDesk(st), dlq.Filter{Key: key, AnyState: true}, 0, listMost)
	if err != nil {
		return err
	}
	views := make([]entryView, 0, len(entries))
	for _, e := range entries {
		view := entryView{
			Scope: e.Scope, Key: e.Key, State: e.State, Since: e.At, Fingerprint: e.Fingerprint, Stale: e.Stale,
			Runs: []attemptView{}, Letters: []int64{},
		}
		attempts, err := st.Inbox().Attempts(ctx, e.ID)
		if err != nil {
			return fmt.Errorf("show key: %w", err)
		}
		for _, a := range attempts {
			view.Runs = append(view.Runs, viewAttempt(a))
		}
		for _, l := range letters {
			if l.ID() == e.ID {
				view.Letters = append(view.Letters, l.LetterID)
			}
		}
		views = append(views, view)
	}
	if m.json() {
		err = m.emitJSON(views)
	} else {
		err = m.printEntries(views)
	}
	if err == nil && len(views) == 0 {
		m.say("no message with this key was ever taken, or it was longer ago than is kept")
		return errFound
	}
	return err
}

func (m *Main) printEntries(views []entryView) error {
	if len(views) == 0 {
		return nil
	}
	var rows, runs [][]string
	for _, v := range views {
		state := string(v.State)
		if v.Stale {
			state += " (stale)"
		}
		rows = append(rows, []string{v.Scope, state, when(v.Since), strconv.Itoa(len(v.Runs)), joinIDs(v.Letters), v.Fingerprint})
		for _, a := range v.Runs {
			runs = append(runs, []string{v.Scope, strconv.Itoa(a.N), when(a.At), a.Class, short(a.Error, 80)})
		}
	}
	if err := m.table([]string{"SCOPE", "STATE", "SINCE", "FAILED RUNS", "LETTER IDS", "FINGERPRINT"}, rows); err != nil || len(runs) == 0 {
		return err
	}
	if err := m.line(""); err != nil {
		return err
	}
	return m.table([]string{"SCOPE", "RUN", "AT", "CLASS", "ERROR"}, runs)
}

func joinIDs(ids []int64) string {
	s := ""
	for _, id := range ids {
		s += ", " + number(id)
	}
	if s == "" {
		return "-"
	}
	return s[2:]
}
