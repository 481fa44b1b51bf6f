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
	"github.com/headrace/headrace/dlq/groups"
	"github.com/headrace/headrace/dlq/redrive"
	"github.com/headrace/headrace/internal/inspect"
	"github.com/headrace/headrace/internal/migrate"
	"github.com/headrace/headrace/store"
)

// groupView is a group as JSON. Count is how many open letters it has, as where a filter chooses some.
type groupView struct {
	groups.Group
	Count int64 `json:"count"`
}

func (m *Main) groupsCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "groups", Short: "list the groups of dead letters with their states, most frequent first", Args: noArgs,
		Long: `Lists the groups of dead letters: those of one handler with the same error fingerprint. A group is new, ongoing,
escalating, resolved or regressed. Muted groups, and resolved ones that still have open letters,
come last. With filters other than --consumer, --handler and --group it counts the letters that match, like headrace dlq ls.`,
	}
	filter := addFilter(c)
	filter.addState()
	look := addLook(c)
	resolved := c.Flags().Bool("resolved", false, "the groups that are resolved, also those without open letters, the last one first")
	c.RunE = m.do(func(ctx context.Context, _ []string) error {
		f, err := filter.parse(time.Now())
		if err != nil {
			return err
		}
		return m.withStore(ctx, func(st openStore) error {
			if err := wholeGroup(ctx, st, &f); err != nil {
				return err
			}
			switch {
			case *resolved && !f.WholeGroups():
				return usagef("--resolved goes with --consumer, --handler and --group only")
			case !f.WholeGroups():
				return m.searchGroups(ctx, st, f, look)
			}
			list := inspect.Groups
			if *resolved {
				list = inspect.Resolved
			}
			views, err := viewGroups(ctx, st, list, groups.Filter{Consumer: f.Consumer, Handler: f.Handler, ErrorFingerprint: f.ErrorFingerprint})
			if err != nil {
				return err
			}
			if err := m.emit("groups", views, groupColumns, m.groupRows(views)); err != nil {
				return err
			}
			if err := m.sayLate(ctx, st); err != nil {
				return err
			}
			if len(views) > 0 {
				return m.nextWhy(ctx, st, views[0].Group)
			}
			return m.found(ctx, st, len(views), f)
		})
	})
	return c
}

// viewGroups returns the groups of f in the order of list.
func viewGroups(ctx context.Context, st openStore, list func(context.Context, store.Store, groups.Filter) ([]groups.Group, error), f groups.Filter) ([]groupView, error) {
	all, err := list(ctx, st, f)
	views := make([]groupView, len(all))
	for i, g := range all {
		views[i] = groupView{g, g.Open}
	}
	return views, err
}

// groupColumns are the same for all ways to choose letters: COUNT is how many of a group are chosen.
var groupColumns = []string{"ERROR FINGERPRINT", "STATE", "COUNT", "LAST", "SINCE", "BUILDS", "SCOPE", "CLASS", "LETTER", "ERROR"}

func (m *Main) groupRows(views []groupView) [][]string {
	rows := make([][]string, 0, len(views))
	for _, g := range views {
		rows = append(rows, []string{
			short(text(g.ErrorFingerprint), 16), stateOfGroup(g.Group), strconv.FormatInt(g.Count, 10), m.when(g.Last), m.began(g.Group), buildSpan(g.Group),
			short(g.Consumer+"/"+g.Handler, 50), string(g.Class), strconv.FormatInt(g.LastLetter, 10), short(text(g.Sample), 60),
		})
	}
	return rows
}

// stateOfGroup is a state in words, with the mute.
func stateOfGroup(g groups.Group) string {
	state := text(string(g.State))
	if g.State == groups.Resolved && g.ResolvedBuild != "" {
		state += " in " + short(text(g.ResolvedBuild), 20)
	}
	if g.Muted(time.Now()) {
		state += ", muted by " + short(text(g.MutedBy), 20)
	}
	return state
}

// began says since when a group is there, and in which build it began.
func (m *Main) began(g groups.Group) string {
	if g.FirstBuild == "" {
		return m.since(g.First)
	}
	return m.since(g.First) + " " + short(g.FirstBuild, 20)
}

// buildSpan names the first and the newest build that wrote letters.
func buildSpan(g groups.Group) string {
	first, last := short(text(g.FirstBuild), 20), short(text(g.LastBuild), 20)
	if first == last {
		return first
	}
	return first + " to " + last
}

// late says since when no process has counted; "" if that is not long.
func late(ctx context.Context, st openStore) (string, error) {
	age, err := inspect.Late(ctx, st)
	if err != nil || age == 0 {
		return "", err
	}
	return fmt.Sprintf("no process has looked at dead letters for %s: the states of groups may be old; the counts are exact", age.Round(time.Second)), nil
}

func (m *Main) sayLate(ctx context.Context, st openStore) error {
	said, err := late(ctx, st)
	if said != "" {
		m.say("%s", said)
	}
	return err
}

// chosen are the options that choose the consumer and the handler of f.
func chosen(f dlq.Filter) (options string) {
	if f.Consumer != "" {
		options += " --consumer " + migrate.Quote(f.Consumer)
	}
	if f.Handler != "" {
		options += " --handler " + migrate.Quote(f.Handler)
	}
	return options
}

// wholeGroup replaces the first digits of a group's fingerprint by all of them. Where no
// group begins with them, they stay.
func wholeGroup(ctx context.Context, st redrive.Store, f *dlq.Filter) error {
	return wholeFingerprint(&f.ErrorFingerprint, func() (all []string, err error) {
		list, err := st.Operations().Groups.List(ctx, groups.Filter{Consumer: f.Consumer, Handler: f.Handler, Closed: true})
		for _, g := range list {
			all = append(all, g.ErrorFingerprint)
		}
		return all, err
	})
}

// wholeFingerprint replaces the first digits of one of known by all of them; they stay if none
// begins with them.
func wholeFingerprint(digits *string, known func() ([]string, error)) error {
	switch {
	case *digits == "" || len(*digits) >= inspect.AllDigits:
		return nil
	case len(*digits) < inspect.LeastDigits:
		return usagef("group %q: give at least %d digits of its error fingerprint", *digits, inspect.LeastDigits)
	}
	all, err := known()
	if err != nil {
		return err
	}
	slices.Sort(all)
	found := slices.DeleteFunc(slices.Compact(all), func(one string) bool { return !strings.HasPrefix(one, *digits) })
	switch {
	case len(found) > 1:
		return usagef("group %q: several begin like that: %s", *digits, strings.Join(found, ", "))
	case len(found) == 1:
		*digits = found[0]
	}
	return nil
}

// oneGroup returns the group of f, with or without open letters.
func (m *Main) oneGroup(ctx context.Context, st openStore, f dlq.Filter) (groups.Group, error) {
	if err := wholeGroup(ctx, st, &f); err != nil {
		return groups.Group{}, err
	}
	list, err := st.Operations().Groups.List(ctx, groups.Filter{Consumer: f.Consumer, Handler: f.Handler, ErrorFingerprint: f.ErrorFingerprint, Closed: true})
	if err != nil {
		return groups.Group{}, err
	}
	if len(list) == 0 {
		return groups.Group{}, m.found(ctx, st, 0, f)
	}
	return list[0], ofOneHandler(list)
}

// ofOneHandler returns an error if groups with one fingerprint are those of several handlers.
func ofOneHandler(list []groups.Group) error {
	if len(list) < 2 {
		return nil
	}
	var names []string
	for _, g := range list {
		names = append(names, fmt.Sprintf("%s/%s (%s)", g.Consumer, g.Handler, plural(g.Open, "letter", "letters")))
	}
	return usagef("%s: several handlers have such letters, choose with --consumer or --handler: %s", list[0].ErrorFingerprint, strings.Join(names, ", "))
}

// settleGroup is wholeGroup for a decision on letters, which are then of one handler.
func settleGroup(ctx context.Context, st redrive.Store, f *dlq.Filter) error {
	if err := wholeGroup(ctx, st, f); err != nil || f.ErrorFingerprint == "" {
		return err
	}
	list, err := st.Operations().Groups.List(ctx, groups.Filter{Consumer: f.Consumer, Handler: f.Handler, ErrorFingerprint: f.ErrorFingerprint})
	if err != nil {
		return err
	}
	return ofOneHandler(list)
}
