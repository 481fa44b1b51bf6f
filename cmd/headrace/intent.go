package main

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/spf13/cobra"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/migrate"
)

func (m *Main) intentCommand() *cobra.Command {
	show := &cobra.Command{
		Use: "show SCOPE KEY", Short: "show the state of an intent and its answer", Args: exactly("SCOPE", "KEY"),
		Long: `Shows an intent, or any other message: its state, failed runs, dead letters and steps. SCOPE is
CONSUMER/HANDLER. If the intent's Kind has no Key function, KEY is OWNER:KEY, with a backslash before each colon
or backslash inside either. --payload also shows the answer.`,
	}
	shown := addContent(show, "the answer")
	show.RunE = m.do(func(ctx context.Context, args []string) error {
		return m.withStore(ctx, func(st openStore) error {
			return m.showIntent(ctx, st, inbox.ID{Scope: args[0], Key: args[1]}, shown)
		})
	})
	return m.parent("intent", "look at intents", show)
}

// intentView is an intent as JSON.
type intentView struct {
	entryView
	AnswerBytes int             `json:"answer_bytes"` // -1 if there is no answer
	Answer      json.RawMessage `json:"answer,omitempty"`
}

func (m *Main) showIntent(ctx context.Context, st openStore, id inbox.ID, shown *content) error {
	eyes := m.eyes(shown)
	entries, err := st.Inbox().Find(ctx, id.Key)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(entries, func(e inbox.Entry) bool { return e.ID == id })
	if at < 0 {
		m.say("no such intent was started, or its record was pruned")
		return errFound
	}
	letters, err := st.Letters().List(ctx, dlq.Filter{Key: id.Key, AnyState: true}, 0, listMost)
	if err != nil {
		return err
	}
	view := intentView{AnswerBytes: -1}
	if view.entryView, err = viewEntry(ctx, st, entries[at], letters); err != nil {
		return err
	}
	answer, err := st.Operations().Answers.Get(ctx, id)
	if err != nil {
		return err
	}
	if answer != nil {
		view.AnswerBytes = len(answer)
	}
	if shown.any() {
		answer = eyes.payload(answer)
		view.Answer = answer
	}
	if m.json() {
		return m.emitJSON("intent", view)
	}
	if err := m.printEntries([]entryView{view.entryView}); err != nil {
		return err
	}
	if answer != nil {
		lines := []string{"  " + plural(view.AnswerBytes, "byte", "bytes") + "; --payload shows it"}
		if shown.any() {
			lines = indent(splitLines(string(answer)))
		}
		if err := m.section("answer", lines); err != nil {
			return err
		}
	}
	switch key := migrate.Quote(id.Key); {
	case len(view.Letters) > 0:
		m.next("dlq show %d", slices.Max(view.Letters))
	case len(view.Steps) > 0:
		m.next("steps %s", key)
	default:
		m.next("inbox show %s", key)
	}
	return nil
}
