package main

import (
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/headrace/headrace/audit"
)

// subjects are the forms of --subject.
const subjects = "letter:ID, group:ERROR-FINGERPRINT, redrive:ID, consumer:NAME, system:NAME, message:KEY, request:ID, outbox:NAME, schedule:NAME, database:ID or suspect"

func (m *Main) auditCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "ls", Short: "list who did what, newest first", Args: noArgs,
		Example: "  headrace audit ls --subject letter:187",
	}
	subject := c.Flags().String("subject", "", "only what was done to one subject: "+subjects)
	most := &limit{n: 50, most: listMost}
	c.Flags().Var(most, "limit", "how many to list")
	before := &limit{most: 1<<63 - 1}
	c.Flags().Var(before, "before", "go on below this id")
	c.RunE = m.do(func(ctx context.Context, _ []string) error {
		var f audit.Filter
		if c.Flags().Changed("subject") {
			f.Kind, f.Subject, _ = strings.Cut(*subject, ":")
			if f.Kind == "" || f.Subject == "" && f.Kind != audit.Suspect {
				return wrong("subject", *subject, "it must be of the form %s", subjects)
			}
			if err := numbered(&f); err != nil {
				return err
			}
		}
		return m.withStore(ctx, func(st openStore) error {
			rows, err := st.Operations().Audit.List(ctx, f, int64(before.n), most.n+1)
			if err != nil {
				return err
			}
			if len(rows) > most.n {
				rows = rows[:most.n]
				m.say("there are more: --before %d", rows[most.n-1].ID)
			}
			if err := m.emitAudit(rows); err != nil || len(rows) > 0 || f.Kind != audit.Consumer {
				return err
			}
			return knownConsumer(ctx, st, f.Subject, "")
		})
	})
	return m.parent("audit", "look at what people did", c)
}

// numbered checks the subject of a kind that has numbers; that of a redrive may be R-42.
func numbered(f *audit.Filter) error {
	switch f.Kind {
	case audit.Redrive:
		id, err := parseRedrive(f.Subject)
		if err != nil {
			return err
		}
		f.Subject = number(id)
	case audit.Letter, audit.Request:
		if _, ok := parseID(f.Subject); !ok {
			return usagef("--subject %s:%q has no id: an id is a number", f.Kind, short(f.Subject, 40))
		}
	}
	return nil
}

func (m *Main) emitAudit(rows []audit.Row) error {
	cells := make([][]string, 0, len(rows))
	for _, r := range rows {
		by := r.By
		if r.DBUser != "" && !strings.HasSuffix(by, " as "+r.DBUser) {
			by += " (" + r.DBUser + ")"
		}
		subject := r.Kind
		if r.Subject != "" {
			subject += ":" + r.Subject
		}
		if r.RedriveID != 0 {
			subject += " in R-" + number(r.RedriveID)
		}
		cells = append(cells, []string{
			strconv.FormatInt(r.ID, 10), m.when(r.At), short(subject, 60), r.Action, short(by, 60), short(text(r.Reason), 60), short(text(r.Detail), 80),
		})
	}
	return m.emit("audit", rows, []string{"ID", "AT", "SUBJECT", "ACTION", "BY", "REASON", "DETAIL"}, cells)
}
