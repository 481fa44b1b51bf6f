package read

import (
	"context"

	"github.com/headrace/headrace/backlog"
)

// BacklogGroup are messages that wait after the same failure.
type BacklogGroup struct {
	backlog.Group
	// Idle is as in Group.
	Idle bool
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
		rows = append(rows, BacklogGroup{g, idle[g.Consumer]})
	}
	return rows, nil
}
