package main

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

func (m *Main) newIDCommand() *cobra.Command {
	c := m.writes(&cobra.Command{
		Use: "new-id", Short: "give a copied database a new id", Args: noArgs,
		Long: `Gives the database a new id. Run it on a copy that becomes another environment. The idempotency keys
that handlers send to other systems are computed from the id, so without it those of the copy and the
original are the same. Do not run it on a database that was restored in place: the other systems would not
recognise a repeated call, and would carry it out again. Running processes read the new id within seconds.`,
	})
	by := c.Flags().String("by", "", "who does it (default: your user name)")
	var yes bool
	yesFlag(c, &yes)
	c.RunE = m.do(func(ctx context.Context, _ []string) error {
		if err := m.mayAsk(yes, false); err != nil {
			return err
		}
		return m.withStore(ctx, func(st openStore) error { return m.newID(ctx, st, operator(*by), yes) })
	})
	return c
}

func (m *Main) newID(ctx context.Context, st openStore, by string, yes bool) error {
	was, err := st.Operations().Schema.Check(ctx)
	if err != nil {
		return err
	}
	origin, err := st.Operations().Conditions.Origin(ctx)
	if err != nil {
		return err
	}
	if err := m.sayWhoRuns(ctx, st); err != nil {
		return err
	}
	if err := m.would(1, "give the database a new id; it has %s", was); err != nil {
		return err
	}
	if name := filepath.Base(origin.Database); !yes {
		err := m.confirmName(name, func(answer string) bool { return answer == name },
			"give the database %s a new id, and so every later call another idempotency key?", name)
		if err != nil {
			return err
		}
	}
	id, err := st.Operations().Schema.NewID(ctx, by)
	if err != nil {
		return err
	}
	if m.json() {
		return m.emitJSON("", map[string]string{"id": id})
	}
	return m.line("the database has the new id %s", id)
}

// sayWhoRuns warns of the consumers of which a process runs: a call that it makes again, after an
// answer that it lost, has another key then.
func (m *Main) sayWhoRuns(ctx context.Context, st openStore) error {
	list, err := st.Operations().Instances.List(ctx, "")
	if err != nil {
		return err
	}
	var running []string
	for _, i := range list {
		if i.Alive() && !slices.Contains(running, i.Consumer) {
			running = append(running, i.Consumer)
		}
	}
	if len(running) > 0 {
		m.say("warning: processes run, of %s: a call that they make again has another key, and is carried out again; stop them first", short(strings.Join(running, ", "), 200))
	}
	return nil
}
