package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
)

func (m *Main) inboxCommand() *cobra.Command {
	show := &cobra.Command{
		Use: "show KEY", Short: "show the messages with this key, in every scope", Args: one("KEY"),
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
	Wait        *waitView     `json:"wait,omitempty"`
	Runs        []attemptView `json:"runs"`
	Letters     []int64       `json:"letter_ids"`
	Steps       []stepView    `json:"steps,omitempty"`
}

// waitView is the wait of a waiting message as JSON.
type waitView struct {
	Status    string    `json:"status"`
	Due       time.Time `json:"due,omitzero"`
	Postponed time.Time `json:"postponed_since,omitzero"`
	Reason    string    `json:"reason,omitempty"`
}

// state returns the state in words.
func (v *entryView) state() string {
	switch {
	case v.Stale:
		return string(v.State) + " (stale)"
	case v.Wait != nil && !v.Wait.Postponed.IsZero():
		return string(v.State) + " (postponed)"
	}
	return string(v.State)
}

func (m *Main) showKey(ctx context.Context, st openStore, key string) error {
	entries, err := st.Inbox().Find(ctx, key)
	if err != nil {
		return fmt.Errorf("show key: %w", err)
	}
	letters, err := st.Letters().List(ctx, dlq.Filter{Key: key, AnyState: true}, 0, listMost)
	if err != nil {
		return err
	}
	views := make([]entryView, 0, len(entries))
	for _, e := range entries {
		view, err := viewEntry(ctx, st, e, letters)
		if err != nil {
			return err
		}
		views = append(views, view)
	}
	if m.json() {
		err = m.emitJSON("messages", views)
	} else {
		err = m.printEntries(views)
	}
	if err == nil && len(views) == 0 {
		m.say("no message with this key was ever taken, or its record was pruned")
		return errFound
	}
	if err == nil {
		m.nextEntry(views)
	}
	return err
}

// nextEntry leads to what became of a message that was given up, or waits.
func (m *Main) nextEntry(views []entryView) {
	for _, v := range views {
		switch consumer, handler, _ := strings.Cut(v.Scope, "/"); {
		case v.State == inbox.Dead && len(v.Letters) > 0:
			m.next("dlq show %d", slices.Max(v.Letters))
			return
		case v.State == inbox.Waiting:
			m.next("backlog ls%s", chosen(dlq.Filter{Consumer: consumer, Handler: handler}))
			return
		}
	}
}

// viewEntry returns an inbox row as JSON. letters are those of its key.
func viewEntry(ctx context.Context, st openStore, e inbox.Entry, letters []dlq.Letter) (view entryView, err error) {
	view = entryView{
		Scope: e.Scope, Key: e.Key, State: e.State, Since: e.At, Fingerprint: e.Fingerprint, Stale: e.Stale,
		Runs: []attemptView{}, Letters: []int64{},
	}
	if w := e.Wait; w.Status != "" {
		view.Wait = &waitView{Status: w.Status, Due: w.Due, Postponed: w.Postponed, Reason: w.Reason}
	}
	attempts, err := st.Inbox().Attempts(ctx, e.ID)
	if err != nil {
		return view, fmt.Errorf("show key: %w", err)
	}
	for _, a := range attempts {
		view.Runs = append(view.Runs, viewAttempt(a))
	}
	for _, l := range letters {
		if l.ID() == e.ID {
			view.Letters = append(view.Letters, l.LetterID)
		}
	}
	view.Steps, err = stepsOf(ctx, st, e.ID)
	return view, err
}

func (m *Main) printEntries(views []entryView) error {
	if len(views) == 0 {
		return nil
	}
	var rows, waits, runs, steps [][]string
	for _, v := range views {
		if w := v.Wait; w != nil {
			waits = append(waits, []string{v.Scope, w.Status, m.when(w.Due), m.when(w.Postponed), short(text(w.Reason), 80)})
		}
		rows = append(rows, []string{v.Scope, v.state(), m.when(v.Since), strconv.Itoa(len(v.Runs)), joinIDs(v.Letters), v.Fingerprint})
		for _, a := range v.Runs {
			runs = append(runs, []string{v.Scope, strconv.Itoa(a.N), m.when(a.At), a.Class, short(a.Error, 80)})
		}
		for _, step := range v.Steps {
			steps = append(steps, append([]string{v.Scope}, step.line()...))
		}
	}
	tables := []struct {
		header []string
		rows   [][]string
	}{
		{[]string{"SCOPE", "STATE", "SINCE", "FAILED RUNS", "LETTER IDS", "FINGERPRINT"}, rows},
		{[]string{"SCOPE", "STATUS", "DUE", "POSTPONED SINCE", "REASON"}, waits},
		{[]string{"SCOPE", "RUN", "AT", "CLASS", "ERROR"}, runs},
		{append([]string{"SCOPE"}, stepColumns...), steps},
	}
	for i, t := range tables {
		if len(t.rows) == 0 {
			continue
		}
		if i > 0 {
			if err := m.line(""); err != nil {
				return err
			}
		}
		if err := m.table(t.header, t.rows); err != nil {
			return err
		}
	}
	return nil
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
