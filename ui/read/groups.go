package read

import (
	"context"

	"github.com/headrace/headrace/dlq/groups"
	"github.com/headrace/headrace/internal/inspect"
)

// Groups is what the list of groups shows.
type Groups struct {
	// Consumer is that of the groups, "" for all. Resolved says that they are resolved; otherwise they have open letters.
	Consumer string
	Resolved bool
	// Rows are so many of Count, and Next is where the list goes on; "" at its end.
	Rows  []groups.Group
	Count int64
	Next  string
}

// Groups reads a list of groups from its row from on, at most so many, and where it goes on; 0 at its end.
func (r Reader) Groups(ctx context.Context, consumer string, resolved bool, from int64, most int) (d Groups, next int64, err error) {
	list := inspect.Groups
	if resolved {
		list = inspect.Resolved
	}
	d = Groups{Consumer: consumer, Resolved: resolved}
	if d.Rows, err = list(ctx, r.Store, groups.Filter{Consumer: consumer}); err != nil {
		return d, 0, err
	}
	d.Count = int64(len(d.Rows))
	d.Rows = d.Rows[min(from, d.Count):]
	if len(d.Rows) > most {
		d.Rows, next = d.Rows[:most], from+int64(most)
	}
	return d, next, nil
}
