package read

import (
	"context"
	"time"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/internal/intervene"
	"github.com/headrace/headrace/ui/view"
)

// BacklogGroup are messages that wait after the same failure.
type BacklogGroup struct {
	backlog.Group
	// Idle is as in Group.
	Idle bool
	// Seen is what its form carries.
	Seen string
}

// BacklogGroups reads what waits, by failure.
func (r Reader) BacklogGroups(ctx context.Context, f backlog.Filter) ([]BacklogGroup, error) {
	list, err := r.Store.Operations().Waiting.Groups(ctx, f)
	if err != nil {
		return nil, err
	}
	idle := make(map[string]bool)
	rows := make([]BacklogGroup, 0, len(list))
	for _, g := range list {
		if _, known := idle[g.Consumer]; !known {
			if idle[g.Consumer], err = r.Idle(ctx, g.Consumer); err != nil {
				return nil, err
			}
		}
		rows = append(rows, BacklogGroup{g, idle[g.Consumer], retrySeen(g)})
	}
	return rows, nil
}

// RetrySeen reads what the form of a group in the backlog carries; another text than that of any form if nothing
// waits in it.
func (r Reader) RetrySeen(ctx context.Context, consumer string, of intervene.Args) (string, error) {
	f := backlog.Filter{Consumer: consumer, Handler: of.Handler, ErrorFingerprint: of.ErrorFingerprint}
	list, err := r.Store.Operations().Waiting.Groups(ctx, f)
	if err != nil || len(list) == 0 {
		return view.Seen(), err
	}
	return retrySeen(list[0]), nil
}

// retrySeen has when the first message is due, to the minute: in a large group that moves all the time, and so does the
// count.
func retrySeen(g backlog.Group) string {
	return view.Seen(g.ErrorFingerprint, g.Due.Truncate(time.Minute))
}
