package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/redrive"
	"github.com/headrace/headrace/internal/inspect"
)

func (m *Main) dlqCommand() *cobra.Command {
	return m.parent("dlq", "look at dead letters, redrive or discard them",
		m.listCommand(), m.groupsCommand(), m.whyCommand(), m.showCommand(), m.rehearseCommand(), m.resolveCommand(), m.muteCommand(), m.unmuteCommand(), m.noteCommand(), m.redriveCommand(), m.discardCommand(), m.restoreCommand(), m.editCommand(), m.exportCommand(), m.importCommand())
}

func (m *Main) showCommand() *cobra.Command {
	c := &cobra.Command{Use: "show ID", Short: "show a dead letter with its attempts, steps and decisions", Args: one("ID")}
	shown := addContent(c, "the payload and the values of the headers")
	c.RunE = m.do(func(ctx context.Context, args []string) error {
		id, ok := parseID(args[0])
		if !ok {
			return notID(args[0])
		}
		eyes := m.eyes(shown)
		return m.withStore(ctx, func(st openStore) error {
			view, err := viewDetail(ctx, st, redrive.New(st), id, shown.any())
			if err != nil {
				return m.letterMissing(ctx, st, err, args[0])
			}
			eyes.body(&view.bodyView)
			if view.Edited != nil {
				eyes.body(view.Edited)
			}
			if m.json() {
				return m.emitJSON("", view)
			}
			if err := m.printDetail(view); err != nil {
				return err
			}
			m.nextLetter(view)
			return nil
		})
	})
	return c
}

// describe returns the filter in words, in brackets.
func describe(f dlq.Filter) string {
	words := inspect.Words(f)
	if len(f.IDs) > 0 { // which take no other filter
		words = listed(f.IDs)
	}
	if words == "" {
		return ""
	}
	return " (" + words + ")"
}
