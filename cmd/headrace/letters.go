package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/redrive"
)

func (m *Main) dlqCommand() *cobra.Command {
	return m.parent("dlq", "look at dead letters, redrive or discard them",
		m.listCommand(), m.groupsCommand(), m.whyCommand(), m.showCommand(), m.redriveCommand(), m.discardCommand())
}

// listPage is how many letters are read at once, and listMost how many are printed.
const (
	listPage = 500
	listMost = 10_000
)

func (m *Main) listCommand() *cobra.Command {
	c := &cobra.Command{Use: "ls", Short: "list dead letters, newest first", Args: noArgs}
	filter := addFilter(c)
	filter.addState()
	most := &limit{n: 50, most: listMost}
	c.Flags().Var(most, "limit", "how many to list")
	before := &limit{most: 1<<63 - 1}
	c.Flags().Var(before, "before", "go on below this id")
	c.RunE = m.do(func(ctx context.Context, _ []string) error {
		f, err := filter.parse(time.Now())
		if err != nil {
			return err
		}
		return m.withAdmin(ctx, func(admin *redrive.Admin) error {
			if err := wholeGroup(ctx, admin, &f); err != nil {
				return err
			}
			letters, err := listLetters(ctx, admin, f, int64(before.n), most.n+1)
			if err != nil {
				return err
			}
			if len(letters) > most.n {
				letters = letters[:most.n]
				m.say("there are more: --before %d", letters[most.n-1].LetterID)
			}
			if err := m.emitLetters(letters); err != nil {
				return err
			}
			return m.found(len(letters), f)
		})
	})
	return c
}

func listLetters(ctx context.Context, admin *redrive.Admin, f dlq.Filter, before int64, most int) ([]dlq.Letter, error) {
	var all []dlq.Letter
	for len(all) < most {
		size := min(listPage, most-len(all))
		letters, err := admin.List(ctx, f, before, size)
		if err != nil {
			return nil, err
		}
		all = append(all, letters...)
		if len(letters) < size {
			break
		}
		before = letters[len(letters)-1].LetterID
	}
	return all, nil
}

func (m *Main) emitLetters(letters []dlq.Letter) error {
	views := make([]letterView, 0, len(letters))
	rows := make([][]string, 0, len(letters))
	for _, l := range letters {
		views = append(views, viewLetter(l))
		rows = append(rows, []string{
			strconv.FormatInt(l.LetterID, 10), string(l.State), string(l.Class), short(l.Consumer, 30), short(l.Handler, 30),
			short(text(l.Delivery.Key), 40), strconv.Itoa(l.Attempts), when(l.CreatedAt), short(text(l.Error), 60),
		})
	}
	return m.emit("dead_letters", views, []string{"ID", "STATE", "CLASS", "CONSUMER", "HANDLER", "KEY", "ATTEMPTS", "CREATED", "ERROR"}, rows)
}

func (m *Main) groupsCommand() *cobra.Command {
	c := &cobra.Command{Use: "groups", Short: "list the reasons of failures, most frequent first", Args: noArgs}
	filter := addFilter(c)
	filter.addState()
	c.RunE = m.do(func(ctx context.Context, _ []string) error {
		f, err := filter.parse(time.Now())
		if err != nil {
			return err
		}
		return m.withAdmin(ctx, func(admin *redrive.Admin) error {
			if err := wholeGroup(ctx, admin, &f); err != nil {
				return err
			}
			groups, err := admin.Groups(ctx, f)
			if err != nil {
				return err
			}
			rows := make([][]string, 0, len(groups))
			for _, g := range groups {
				rows = append(rows, []string{
					text(g.ErrorFingerprint), strconv.FormatInt(g.Count, 10), string(g.Class), short(g.Consumer, 30), short(g.Handler, 30),
					when(g.First), when(g.Last), strconv.FormatInt(g.SampleID, 10), short(text(g.Sample), 60),
				})
			}
			if err := m.emit("groups", groups, []string{"ERROR FINGERPRINT", "COUNT", "CLASS", "CONSUMER", "HANDLER", "FIRST", "LAST", "SAMPLE ID", "ERROR"}, rows); err != nil {
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
