package read

import (
	"context"

	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store"
)

// Outboxes is what the page of the outboxes shows.
type Outboxes struct {
	// Outboxes are all of them, and Parked the parked events of one, or of all.
	Outboxes []outbox.Status
	Parked   []outbox.HeldRow
	// Owners are who owns each of them, by its name.
	Owners map[string][]string
	// Next is where the list of parked events goes on; "" at its end.
	Next string
}

// OutboxesOf reads what the page of the outboxes shows, with the parked events of one after a row, and where they go
// on; 0 at the end.
func OutboxesOf(ctx context.Context, st store.Store, only string, after int64, limit int) (d Outboxes, end int64, err error) {
	if d.Outboxes, err = st.Outbox().List(ctx, ""); err != nil {
		return d, 0, err
	}
	owners, err := st.Operations().Relays.Owners(ctx, "")
	if err != nil {
		return d, 0, err
	}
	d.Owners = make(map[string][]string)
	for _, o := range owners {
		d.Owners[o.Outbox] = append(d.Owners[o.Outbox], o.Consumer)
	}
	if d.Parked, err = st.Outbox().Parked(ctx, only, after, limit); len(d.Parked) == limit {
		end = d.Parked[limit-1].RowID
	}
	return d, end, err
}
