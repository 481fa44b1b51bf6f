package read

import (
	"context"
	"slices"
	"time"

	"github.com/headrace/headrace/audit"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/groups"
	"github.com/headrace/headrace/dlq/job"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/inspect"
	"github.com/headrace/headrace/ui/view"
)

// lifeShown is how many decisions, and redrivesShown how many redrives, a page looks at.
const lifeShown, redrivesShown = 20, 20

// Group is what the page of a group shows.
type Group struct {
	groups.Group
	// Steps are those of the path, Chart the letters by hour, Builds those of its consumer.
	Steps  []view.Step
	Chart  view.Chart
	Builds []inspect.Build
	// Life are the decisions on it, Redrives the newest of it.
	Life     []view.Event
	Redrives []job.Redrive
	// Letter is one of it, nil if none is left, with its newest Attempts.
	Letter   *dlq.Letter
	Attempts []inbox.Attempt
	// Runbook is a link for its handler; "" for none.
	Runbook string
	// Late is how long no process has counted letters; 0 if that is not long. Muted says that
	// the group is muted now.
	Late  time.Duration
	Muted bool
	// Idle says that no process runs that could rehearse or plan.
	Idle bool
	GroupSeen
}

// GroupSeen is what the forms of a group carry. Letters that come do not change it: a decision on a
// group that goes on failing must be possible; only who resolves it has seen the newest one.
type GroupSeen struct {
	// Each is for the forms of that name; Plan is for rehearse, plan and discard.
	SeenPlan, SeenResolve, SeenMute, SeenNote string
	// Newest is the newest redrive of the consumer; 0 for none. SeenPlan is of it.
	Newest int64
}

// LettersOf chooses the open letters of a group.
func LettersOf(g groups.Group) dlq.Filter {
	return dlq.Filter{Consumer: g.Consumer, Handler: g.Handler, ErrorFingerprint: g.ErrorFingerprint}
}

// Group reads what the page of a group shows.
func (r Reader) Group(ctx context.Context, g groups.Group) (d Group, err error) {
	ops, now := r.Store.Operations(), time.Now()
	d = Group{Group: g, Muted: g.Muted(now)}
	hours, err := ops.Groups.Hours(ctx, g.ID)
	if err != nil {
		return d, err
	}
	started, err := ops.Groups.Builds(ctx, g.Consumer)
	if err != nil {
		return d, err
	}
	processes, err := ops.Instances.List(ctx, g.Consumer)
	if err != nil {
		return d, err
	}
	facts := view.Facts{Group: g}
	facts.Builds, facts.Processes = inspect.Builds(hours, processes, started)
	d.Idle = facts.Processes == 0
	if len(started) > 0 {
		facts.Quiet = max(0, g.First.Sub(started[0].First))
	}
	redrives, err := ops.Redrives.List(ctx, g.Consumer, redrivesShown)
	if err != nil {
		return d, err
	}
	d.GroupSeen = groupSeen(g, newest(redrives))
	d.Redrives = slices.DeleteFunc(redrives, func(r job.Redrive) bool { return !r.Chooses(g.Consumer, g.Handler, g.ErrorFingerprint) })
	if len(d.Redrives) > 0 {
		facts.Redrive = d.Redrives[0]
	}
	d.Builds, d.Chart, d.Steps = facts.Builds, view.ChartOf(hours, facts.Builds, now), view.Steps(facts)
	rows, err := ops.Audit.List(ctx, audit.Filter{Kind: audit.Group, Subject: g.ErrorFingerprint}, 0, lifeShown)
	if err != nil {
		return d, err
	}
	d.Life = view.Life(rows)
	if d.Late, err = inspect.Late(ctx, r.Store); err != nil {
		return d, err
	}
	d.Runbook = fill(r.RunbookURL, "{consumer}", g.Consumer, "{handler}", g.Handler)
	return d, r.sampleOf(ctx, &d)
}

// GroupSeen reads what the forms of a group carry.
func (r Reader) GroupSeen(ctx context.Context, g groups.Group) (GroupSeen, error) {
	newest, err := r.NewestRedrive(ctx, g.Consumer)
	return groupSeen(g, newest), err
}

func groupSeen(g groups.Group, newest int64) GroupSeen {
	return GroupSeen{
		SeenPlan: view.Seen(newest), SeenResolve: view.Seen(g.State, g.StateAt, g.LastLetter),
		Newest: newest, SeenMute: view.Seen(g.MutedBy, g.MutedUntil, g.MutedCount), SeenNote: view.Seen(g.Assignee, g.Note, g.Link),
	}
}

// NewestRedrive is the newest redrive of a consumer; 0 if it has none. Who plans has seen it: so a
// second click, or a second person, makes no second plan.
func (r Reader) NewestRedrive(ctx context.Context, consumer string) (int64, error) {
	list, err := r.Store.Operations().Redrives.List(ctx, consumer, 1)
	return newest(list), err
}

// newest is the id of the first of a list; 0 if it is empty.
func newest(list []job.Redrive) int64 {
	if len(list) == 0 {
		return 0
	}
	return list[0].ID
}

// sampleOf reads a letter of the group, and its attempts.
func (r Reader) sampleOf(ctx context.Context, d *Group) error {
	id, err := inspect.Sample(ctx, r.Store, d.Group)
	if err != nil || id == 0 {
		return err
	}
	list, err := r.Store.Letters().List(ctx, dlq.Filter{IDs: []int64{id}, AnyState: true}, 0, 1)
	if err != nil || len(list) == 0 {
		return err
	}
	d.Letter = &list[0]
	if d.Letter.Class == dlq.Conflict { // the attempts of its key are those of another message
		return nil
	}
	all, err := r.Store.Inbox().Attempts(ctx, d.Letter.ID())
	d.Attempts = all[max(0, len(all)-5):]
	return err
}
