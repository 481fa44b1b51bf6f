package inspect

import (
	"cmp"
	"context"
	"time"

	"github.com/headrace/headrace/alerts/condition"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/store"
)

// Judges are the consumers whose processes judge what fires. What concerns the whole database is judged by any process,
// also by one that serves the pages.
type Judges struct {
	runs map[string]bool
	last map[string]time.Time
}

// ReadJudges reads which processes run.
func ReadJudges(ctx context.Context, st store.Store) (Judges, error) {
	j := Judges{runs: make(map[string]bool), last: make(map[string]time.Time)}
	list, err := st.Operations().Instances.List(ctx, "")
	for _, i := range list {
		j.runs[i.Consumer] = j.runs[i.Consumer] || i.Alive()
		if seen := LastSign(i); seen.After(j.last[i.Consumer]) {
			j.last[i.Consumer] = seen
		}
	}
	return j, err
}

// Silent returns true if no process judges c any more, so that it stands as it was when the last one ended, and when that was;
// zero if it is not known.
func (j Judges) Silent(c condition.Condition) (since time.Time, silent bool) {
	if c.Namespace == "" || c.State != condition.Firing || j.runs[c.Namespace] {
		return time.Time{}, false
	}
	return j.last[c.Namespace], true
}

// LastSign is when a process ended in order, or gave its last sign of life.
func LastSign(i instance.Instance) time.Time { return cmp.Or(i.Ended, i.Beat) }
