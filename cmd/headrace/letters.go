package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/redrive"
)

func (m *Main) dlqCommand() *cobra.Command {
	return m.parent("dlq", "look at dead letters, redrive or discard them",
		m.listCommand(), m.groupsCommand(), m.whyCommand(), m.showCommand(), m.redriveCommand(), m.discardCommand())
}

func (m *Main) groupsCommand() *cobra.Command {
	c := &cobra.Command{Use: "groups", Short: "list the reasons of failures, most frequent first", Args: noArgs}
	filter := addFilter(c)
	filter.addState()
	look := addLook(c)
	c.RunE = m.do(func(ctx context.Context, _ []string) error {
		f, err := filter.parse(time.Now())
		if err != nil {
			return err
		}
		return m.withStore(ctx, func(st openStore) error {
			admin := redrive.New(st)
			if err := wholeGroup(ctx, admin, &f); err != nil {
				return err
			}
			if !f.WholeGroups() {
				return m.searchGroups(ctx, st, f, look)
			}
			groups, err := admin.Groups(ctx, f)
			if err != nil {
				return err
			}
			if err := m.emit("groups", groups, groupColumns, groupRows(groups)); err != nil {
				return err
			}
			if len(groups) > 0 && f.WholeGroups() {
				m.next("dlq why %s", short(groups[0].ErrorFingerprint, 16))
			}
			return m.found(len(groups), f)
		})
	})
	return c
}

func (m *Main) showCommand() *cobra.Command {
	c := &cobra.Command{Use: "show ID", Short: "show a dead letter with its attempts, steps and decisions", Args: one("ID")}
	payload := c.Flags().Bool("payload", false, "print the payload and the values of the headers, too")
	c.RunE = m.do(func(ctx context.Context, args []string) error {
		id, ok := parseID(args[0])
		if !ok {
			return notID(args[0])
		}
		return m.withStore(ctx, func(st openStore) error {
			view, err := viewDetail(ctx, st, redrive.New(st), id, *payload)
			if err != nil {
				return err
			}
			if m.json() {
				return m.emitJSON("", view)
			}
			return m.printDetail(view)
		})
	})
	return c
}

// found returns errFound if a given group does not exist. With other filters an empty
// list is a valid result.
func (m *Main) found(n int, f dlq.Filter) error {
	if n > 0 || f.ErrorFingerprint == "" {
		return nil
	}
	m.say("no letter matches%s", describe(f))
	return errFound
}

// withAdmin opens the database and calls f with its Admin.
func (m *Main) withAdmin(ctx context.Context, f func(*redrive.Admin) error) error {
	return m.withStore(ctx, func(st openStore) error { return f(redrive.New(st)) })
}

// describe returns the filter in words.
func describe(f dlq.Filter) string {
	words := ""
	add := func(name, value string) {
		if value != "" {
			words += fmt.Sprintf(", %s %s", name, value)
		}
	}
	add("consumer", f.Consumer)
	add("handler", f.Handler)
	add("topic", f.Topic)
	add("class", string(f.Class))
	add("error fingerprint", f.ErrorFingerprint)
	add("key", f.Key)
	add("build", f.Build)
	add("host", f.Host)
	add("text", f.Text)
	for _, name := range slices.Sorted(maps.Keys(f.Headers)) {
		add("header", name+"="+f.Headers[name])
	}
	add("where", f.Where)
	if !f.Since.IsZero() {
		add("since", when(f.Since))
	}
	if !f.Until.IsZero() {
		add("until", when(f.Until))
	}
	if words == "" {
		return ""
	}
	return " (" + words[2:] + ")"
}
