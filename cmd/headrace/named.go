package main

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/groups"
	"github.com/headrace/headrace/dlq/redrive"
	"github.com/headrace/headrace/internal/inspect"
)

// named are the flags that say what digits name that may be the number of a letter, or the first ones
// of a group.
type named struct {
	letter limit
	group  string
}

// addLetter adds the flag for a letter, to a command that has --group.
func addLetter(c *cobra.Command, letter *limit) {
	letter.most = 1<<63 - 1
	c.Flags().Var(letter, "letter", "the dead letter with this `number`, where a group begins with the same digits")
}

func addNamed(c *cobra.Command) *named {
	n := &named{}
	addLetter(c, &n.letter)
	c.Flags().StringVar(&n.group, "group", "", "the group with this `error-fingerprint`, where a letter has its digits as its number")
	c.MarkFlagsMutuallyExclusive("letter", "group")
	c.Args = func(c *cobra.Command, args []string) error {
		if given := n.letter.n > 0 || c.Flags().Changed("group"); given == (len(args) > 0) {
			return usagef("%s takes a GROUP or ID, or one of --group and --letter", c.CommandPath())
		}
		return nil
	}
	return n
}

// choose returns what a command's arguments and these flags name: a group, or letters.
func (n *named) choose(ctx context.Context, st openStore, args []string, of dlq.Filter) (group string, letters []string, err error) {
	switch {
	case n.group != "":
		return n.group, nil, nil
	case n.letter.n > 0:
		return "", []string{n.letter.String()}, nil
	case isGroup(args):
		return args[0], nil, nil
	}
	group, err = groupNamed(ctx, st, args, of)
	if group != "" {
		args = nil
	}
	return group, args, err
}

// isGroup reports whether args are one group, and cannot be the numbers of letters: the first digits
// of a fingerprint have a letter among them, or are all that it has.
func isGroup(args []string) bool {
	if len(args) != 1 || !inspect.Digits(args[0]) {
		return false
	}
	_, number := parseID(args[0])
	return !number || len(args[0]) >= inspect.AllDigits
}

// groupNamed returns the group that args name, of those that of chooses, where they may be the number of a letter, too: what
// exists decides. It is "" if they name no group; if they name both, the error says how to tell.
func groupNamed(ctx context.Context, st redrive.Store, args []string, of dlq.Filter) (string, error) {
	if len(args) != 1 || !inspect.Digits(args[0]) {
		return "", nil
	}
	id, _ := parseID(args[0])
	list, err := st.Operations().Groups.List(ctx, groups.Filter{Consumer: of.Consumer, Handler: of.Handler, Closed: true})
	if err != nil {
		return "", err
	}
	begins := func(g groups.Group) bool { return strings.HasPrefix(g.ErrorFingerprint, args[0]) }
	i := slices.IndexFunc(list, begins)
	if i < 0 {
		return "", nil
	}
	letters, err := redrive.New(st).List(ctx, dlq.Filter{IDs: []int64{id}, AnyState: true}, 0, 1)
	switch {
	case err != nil:
		return "", err
	case len(letters) > 0:
		return "", usagef("%s is the number of a letter, and the first digits of group %s: say which with --letter %[1]s or --group %[1]s", args[0], list[i].ErrorFingerprint)
	}
	return args[0], nil
}

// letterMissing adds to the error that there is no such letter what its digits name.
func (m *Main) letterMissing(ctx context.Context, st redrive.Store, err error, arg string) error {
	if !errors.Is(err, dlq.ErrNotFound) {
		return err
	}
	group, failed := groupNamed(ctx, st, []string{arg}, dlq.Filter{})
	if group != "" {
		m.next("dlq why %s", group)
	}
	return errors.Join(err, failed)
}
