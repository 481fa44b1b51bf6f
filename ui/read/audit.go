package read

import (
	"context"

	"github.com/headrace/headrace/audit"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/ui/view"
)

// Audit is what the page of the audit shows.
type Audit struct {
	audit.Filter
	// Rows are those of the filter, and Kinds those of a subject.
	Rows  []audit.Row
	Kinds []string
	// Next is where the list goes on; "" at its end. Flags are those of the command.
	Next, Flags string
}

// AuditOf reads what the page of the audit shows, from a row on, and where it goes on; 0 at the end.
func AuditOf(ctx context.Context, st store.Store, f audit.Filter, from int64, limit int) (d Audit, end int64, err error) {
	d = Audit{Filter: f, Kinds: []string{audit.Letter, audit.Group, audit.Redrive, audit.Consumer, audit.Message, audit.Request, audit.System, audit.Schedule, audit.Outbox, audit.Database, audit.Suspect}}
	if f.Kind != "" {
		d.Flags = view.Flags("subject", f.Kind+":"+f.Subject)
	}
	if d.Rows, err = st.Operations().Audit.List(ctx, f, from, limit); len(d.Rows) == limit {
		end = d.Rows[limit-1].ID
	}
	return d, end, err
}
