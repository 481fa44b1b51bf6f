package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/groups"
	"github.com/headrace/headrace/internal/counting"
	"github.com/headrace/headrace/store/txn"
)

// groupCommand completes a command that changes a group: do does it, and returns what to say.
// It works while no process of the consumer runs.
func (m *Main) groupCommand(c *cobra.Command, do func(ctx context.Context, st openStore, g groups.Group, by string, args []string) (string, error)) *cobra.Command {
	var f dlq.Filter
	addOwner(c, &f)
	m.writes(c)
	by := c.Flags().String("by", "", "who does it (default: your user name)")
	c.RunE = m.do(func(ctx context.Context, args []string) error {
		of := f
		of.ErrorFingerprint = args[0]
		return m.withStore(ctx, func(st openStore) error {
			g, err := m.oneGroup(ctx, st, of)
			if err != nil {
				return err
			}
			name, err := signed(ctx, st, *by)
			if err != nil {
				return err
			}
			said, err := do(ctx, st, g, name, args[1:])
			if errors.Is(err, groups.ErrNotFound) { // no process has counted its first letters
				if err = counting.New(st).AddUp(ctx); err == nil {
					said, err = do(ctx, st, g, name, args[1:])
				}
				if txn.NotPermitted(err) || errors.Is(err, groups.ErrNotFound) {
					err = fmt.Errorf("%w: its first letters are not counted yet. A running process of %s does that within seconds, or an admin does: %s",
						errRefused, g.Consumer, m.command("check --repair counters"))
				}
			}
			if err != nil {
				return err
			}
			if g, err = m.oneGroup(ctx, st, dlq.Filter{Consumer: g.Consumer, Handler: g.Handler, ErrorFingerprint: g.ErrorFingerprint}); err != nil {
				return err
			}
			err = m.emit("", groupView{g, g.Open}, nil, [][]string{{short(g.ErrorFingerprint, 16) + " " + said}})
			return errors.Join(err, m.nextWhy(ctx, st, g))
		})
	})
	return c
}

// wouldGroup is would for a group.
func (m *Main) wouldGroup(does string, g groups.Group) error {
	return m.would(g.Open, "%s %s of %s/%s, which is %s, with %s open", does, short(g.ErrorFingerprint, 16), g.Consumer, g.Handler, text(string(g.State)), plural(g.Open, "letter", "letters"))
}

func (m *Main) resolveCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "resolve GROUP", Short: "say that the cause of a group is fixed", Args: one("GROUP"),
		Long: `Marks the group as resolved, even if letters of it are open. A later letter makes it regressed, unless a build
older than that of --in wrote it, as old processes do during a rollout. The build of --in may start later; if
it has not started after 7 days, time decides. A group is also resolved when its last letter is closed.`,
		Example: "  headrace dlq resolve 7f3a --in v1.8.1",
	}
	build := c.Flags().String("in", "", "the `build` that fixes it (default: time decides)")
	return m.groupCommand(c, func(ctx context.Context, st openStore, g groups.Group, by string, _ []string) (string, error) {
		said := "is resolved"
		if *build != "" {
			said += " in " + *build
		}
		if g.Open > 0 {
			said += fmt.Sprintf("; %s: headrace dlq redrive or discard", plural(g.Open, "letter is open", "letters are open"))
		}
		if err := m.wouldGroup("resolve", g); err != nil {
			return "", err
		}
		return said, st.Operations().Groups.Resolve(ctx, g.ID, by, *build)
	})
}

func (m *Main) muteCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "mute GROUP", Short: "silence the alerts of a group for a while", Args: one("GROUP"),
		Long: `A muted group sends no alerts and comes last in lists, but is still counted. The mute ends with --for or --letters,
whichever comes first, with headrace dlq unmute, or when the group becomes regressed or escalating.`,
		Example: "  headrace dlq mute 7f3a --for 24h",
	}
	span := &age{}
	c.Flags().Var(span, "for", "for how long, as in 30m or 24h (default: no end)")
	letters := &limit{most: 1_000_000_000}
	c.Flags().Var(letters, "letters", "for how many more letters (default: no end)")
	worse := c.Flags().Bool("even-if-worse", false, "also when it becomes regressed or escalating")
	return m.groupCommand(c, func(ctx context.Context, st openStore, g groups.Group, by string, _ []string) (string, error) {
		if err := m.wouldGroup("mute", g); err != nil {
			return "", err
		}
		return "is muted", st.Operations().Groups.Mute(ctx, g.ID, groups.Mute{MutedBy: by, EvenIfWorse: *worse}, span.d, int64(letters.n))
	})
}

func (m *Main) unmuteCommand() *cobra.Command {
	c := &cobra.Command{Use: "unmute GROUP", Short: "end the mute of a group", Args: one("GROUP")}
	return m.groupCommand(c, func(ctx context.Context, st openStore, g groups.Group, by string, _ []string) (string, error) {
		if m.dryRun && g.MutedBy == "" {
			m.say("it was not muted")
			return "", errFound
		}
		if err := m.wouldGroup("end the mute of", g); err != nil {
			return "", err
		}
		was, err := st.Operations().Groups.Unmute(ctx, g.ID, by)
		if err == nil && !was {
			m.say("it was not muted")
			err = errFound
		}
		return "is not muted any more", err
	})
}

func (m *Main) noteCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "note GROUP [TEXT]", Short: "write an assignee, a ticket or a text on a group", Args: least("a GROUP"),
		Long:    "Sets the parts that you give and keeps the others; an empty part is removed. headrace audit ls --subject group:ERROR-FINGERPRINT shows earlier notes.",
		Example: "  headrace dlq note 7f3a --assign ann --link https://tickets/INC-412 'the bank rejects negative totals'",
	}
	assign := c.Flags().String("assign", "", "who looks after it")
	link := c.Flags().String("link", "", "the `URL` of a ticket")
	return m.groupCommand(c, func(ctx context.Context, st openStore, g groups.Group, by string, args []string) (string, error) {
		n := groups.Note{By: by}
		if c.Flags().Changed("assign") {
			n.Assignee = assign
		}
		if c.Flags().Changed("link") {
			if u, err := url.Parse(*link); *link != "" && (err != nil || u.Scheme != "http" && u.Scheme != "https") {
				return "", wrong("link", *link, "it must be an http or https URL")
			}
			n.Link = link
		}
		if len(args) > 0 {
			said := strings.Join(args, " ")
			n.Text = &said
		}
		if n == (groups.Note{By: by}) {
			return "", usagef("nothing to note: give a text, --assign or --link")
		}
		if err := m.wouldGroup("note on", g); err != nil {
			return "", err
		}
		return "is noted", st.Operations().Groups.Note(ctx, g.ID, n)
	})
}
