package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

type globalFlags struct {
	set     *pflag.FlagSet
	dsn     string
	dsnFile string
	schema  string
	redact  string
	format  choice
	// progress says how to show the progress of long work on stderr.
	progress choice
	// utc shows times as such on a terminal, too.
	utc bool
}

const long = `headrace looks after a database that headrace consumers work on.

The database is named by HEADRACE_DSN, by --dsn-file, or by --dsn (which others can see in
the list of processes): postgres://user@host:5432/database, "host=… user=… dbname=…", or
sqlite:FILE; sqlite:FILE?mode=ro only reads.

Exit status:
`

func (m *Main) root() *cobra.Command {
	root := m.parent("headrace", "look after a database of headrace",
		m.migrateCommand(),
		m.checkCommand(),
		m.statusCommand(),
		m.dlqCommand(),
		m.redrivesCommand(),
		m.backlogCommand(),
		m.inboxCommand(),
		m.outboxCommand(),
		m.subscriptionCommand(),
		m.consumerCommand(),
		m.stepsCommand(),
		m.systemCommand(),
		m.alertCommand(),
		m.suspectCommand(),
		m.intentCommand(),
		m.scheduleCommand(),
		m.auditCommand(),
		m.pruneCommand(),
		m.uiCommand(),
		m.versionCommand(),
	)
	root.Long = long + exitTable()
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetIn(m.Stdin)
	root.SetOut(m.out)
	root.SetErr(m.Stderr)
	root.SetFlagErrorFunc(flagError)
	m.flags.format = choice{value: "table", of: []string{"table", "json", "ndjson", "name"}}
	flags := root.PersistentFlags()
	m.flags.set = flags
	flags.StringVar(&m.flags.dsn, "dsn", "", "the database; visible to others in the list of processes")
	flags.StringVar(&m.flags.dsnFile, "dsn-file", "", "a file that holds the database's DSN")
	flags.StringVar(&m.flags.schema, "schema", "", "the schema of the tables (PostgreSQL; default public)")
	flags.StringVar(&m.flags.redact, "redact", "", "a file with more rules of what to redact in payloads, headers and results")
	flags.VarP(&m.flags.format, "output", "o", "how to print: table, json, ndjson (one object a line), or name (of each item of a list)")
	m.flags.progress = choice{value: "auto", of: []string{"auto", "ndjson"}}
	flags.Var(&m.flags.progress, "progress", "how to show the progress of long work on stderr: auto, or ndjson (one object a line)")
	flags.BoolVar(&m.flags.utc, "utc", false, "show times in UTC, and not how long ago they were")
	root.MarkFlagsMutuallyExclusive("dsn", "dsn-file")
	m.completions(root)
	return root
}

// knownOnly makes an unknown name after the commands of the library, help and completion, wrong usage, too.
func knownOnly(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.Args = func(_ *cobra.Command, args []string) error {
				if _, rest, err := root.Find(args); err != nil || len(rest) > 0 {
					return usagef("%s has no command %q", root.Name(), strings.Join(args, " "))
				}
				return nil
			}
		case "completion":
			c.Args = cobra.ArbitraryArgs
			c.RunE = func(c *cobra.Command, args []string) error {
				if len(args) == 0 {
					return c.Help()
				}
				return unknownCommand(c, args[0], c.Commands())
			}
		}
	}
}

// parent makes a command that only has subcommands.
func (m *Main) parent(name, short string, children ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: name, Short: short, Args: cobra.ArbitraryArgs}
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usagef("what? %s takes one of %s", c.CommandPath(), names(children))
		}
		return unknownCommand(c, args[0], children)
	}
	c.AddCommand(children...)
	return c
}

func unknownCommand(c *cobra.Command, name string, known []*cobra.Command) error {
	return usagef("%s has no command %q, but %s", c.CommandPath(), name, names(known))
}

func names(commands []*cobra.Command) string {
	var list []string
	for _, c := range commands {
		list = append(list, c.Name())
	}
	return strings.Join(list, ", ")
}

// noArgs allows no argument.
func noArgs(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return usagef("%s takes no argument, and not %s", c.CommandPath(), plural(len(args), "argument", "arguments"))
}

// one allows exactly one argument.
func one(what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == 1 {
			return nil
		}
		return usagef("%s takes one %s, and not %s", c.CommandPath(), what, plural(len(args), "argument", "arguments"))
	}
}

// least allows one argument or more.
func least(what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) > 0 {
			return nil
		}
		return usagef("%s: which? give %s", c.CommandPath(), what)
	}
}

// mostOne allows one argument or none.
func mostOne(what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) <= 1 {
			return nil
		}
		return usagef("%s takes at most one %s, and not %s", c.CommandPath(), what, plural(len(args), "argument", "arguments"))
	}
}

// do returns a RunE: errors before it runs are wrong usage.
func (m *Main) do(f func(ctx context.Context, args []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		m.path = pathOf(c)
		m.role, m.reads = roleOf(c), onlyReads(c)
		if err := m.hasNames(c); err != nil {
			return err
		}
		if err := checkTexts(c, args); err != nil {
			return err
		}
		if err := m.loadRules(); err != nil {
			return err
		}
		m.started = true
		if m.paged = m.pager(); m.paged != nil {
			m.out.Reset(closedPipe{m.paged})
		}
		return f(c.Context(), args)
	}
}
