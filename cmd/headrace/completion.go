package main

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/headrace/headrace/dlq/groups"
	"github.com/headrace/headrace/dlq/job"
)

// completionTime bounds what a shell waits for the database.
const completionTime = 300 * time.Millisecond

// lister returns words with their descriptions, each as "word\tdescription".
type lister func(ctx context.Context, st openStore) ([]string, error)

// completions lets the shell complete what a command names: the arguments GROUP, R-N and CONSUMER,
// and the options of these names.
func (m *Main) completions(c *cobra.Command) {
	for _, child := range c.Commands() {
		m.completions(child)
	}
	for _, of := range []struct {
		flag, arg string
		list      lister
	}{{"consumer", "CONSUMER", consumerNames}, {"handler", "", handlerNames}, {"group", "GROUP", groupNames}, {"build", "", buildNames}, {"", "R-N", redriveNames}} {
		if of.flag != "" && c.Flags().Lookup(of.flag) != nil {
			_ = c.RegisterFlagCompletionFunc(of.flag, m.complete(of.list, false))
		}
		if of.arg != "" && strings.Contains(c.Use, of.arg) {
			c.ValidArgsFunction = m.complete(of.list, true)
		}
	}
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if words, ok := f.Value.(*choice); ok {
			_ = c.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(words.of, cobra.ShellCompDirectiveNoFileComp))
		}
	})
	if c.ValidArgsFunction == nil && !strings.Contains(c.Use, "FILE") {
		c.ValidArgsFunction = cobra.NoFileCompletions
	}
}

// complete returns the names that begin with what is typed; none if the database does not answer in
// time. Only the first argument is completed if first.
func (m *Main) complete(of lister, first bool) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, typed string) (found []cobra.Completion, _ cobra.ShellCompDirective) {
		m.Stderr = io.Discard
		db, err := m.locate()
		if err != nil || first && len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		m.reads = true
		if _, err := os.Stat(db.sqlite); db.sqlite != "" && errors.Is(err, fs.ErrNotExist) {
			return nil, cobra.ShellCompDirectiveNoFileComp // it would be made
		}
		ctx, cancel := context.WithTimeout(c.Context(), completionTime)
		defer cancel()
		_ = m.with(ctx, db, true, func(st openStore) error {
			list, err := of(ctx, st)
			for _, one := range list {
				word, says, _ := strings.Cut(one, "\t")
				if strings.HasPrefix(word, typed) && visible(word) == word {
					found = append(found, cobra.CompletionWithDesc(word, visible(says)))
				}
			}
			return err
		})
		return found, cobra.ShellCompDirectiveNoFileComp
	}
}

func consumerNames(ctx context.Context, st openStore) (list []string, err error) {
	known, err := consumers(ctx, st, "")
	for _, k := range known {
		list = append(list, k.Consumer)
	}
	return list, err
}

func handlerNames(ctx context.Context, st openStore) (list []string, err error) {
	running, err := st.Operations().Instances.List(ctx, "")
	for _, i := range running {
		list = append(list, i.Handlers...)
	}
	failing, err2 := st.Operations().Groups.List(ctx, groups.Filter{})
	for _, g := range failing {
		list = append(list, g.Handler)
	}
	slices.Sort(list)
	return slices.Compact(list), errors.Join(err, err2)
}

func groupNames(ctx context.Context, st openStore) (list []string, err error) {
	failing, err := st.Operations().Groups.List(ctx, groups.Filter{})
	for _, g := range failing {
		list = append(list, g.ErrorFingerprint+"\t"+short(g.Consumer+"/"+g.Handler, 40)+": "+short(g.Sample, 60))
	}
	return list, err
}

func buildNames(ctx context.Context, st openStore) (list []string, err error) {
	running, err := st.Operations().Instances.List(ctx, "")
	for _, i := range running {
		if i.Build != "" {
			list = append(list, i.Build)
		}
	}
	slices.Sort(list)
	return slices.Compact(list), err
}

func redriveNames(ctx context.Context, st openStore) (list []string, err error) {
	newest, err := st.Operations().Redrives.List(ctx, "", newestRedrives)
	for _, r := range newest {
		list = append(list, job.Name(r.ID)+"\t"+string(r.State)+": "+short(r.Filter, 60))
	}
	return list, err
}
