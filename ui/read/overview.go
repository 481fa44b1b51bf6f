package read

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/groups"
	"github.com/headrace/headrace/dlq/job"
	"github.com/headrace/headrace/internal/inspect"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/ui/view"
)

// groupsShown is how many groups the overview shows; the rest is counted.
const groupsShown = 20

// Overview is what the overview shows.
type Overview struct {
	// Open counts letters; New and Worse groups that are new, and regressed or escalating, and
	// Muted those that are muted.
	Open              int64
	New, Worse, Muted int
	// Recent counts the letters of this hour, of the groups that are shown.
	Recent int64
	// Oldest is when the oldest open letter was written.
	Oldest time.Time
	// Waiting counts the messages of all backlogs, and Lag is how long the oldest is ready.
	Waiting int64
	Lag     time.Duration
	// Events counts those of all outboxes that wait, and Parked those that are parked.
	Events, Parked int64
	// Groups are those that need a person most, More how many others there are.
	Groups []GroupRow
	More   int
	// Consumers are all of them.
	Consumers []Consumer
	// Paused are redrives that have paused. Late is as in Group.
	Paused []job.Redrive
	Late   time.Duration
	// Firing are the alerts.
	Firing
}

// GroupRow is a group in a list.
type GroupRow struct {
	groups.Group
	// Spark is its last day, SparkSays that in words. Muted says that it is muted now.
	Spark     []view.Rect
	SparkSays string
	Muted     bool
	// Redrive is the unfinished one of the group, its ID 0 if there is none.
	Redrive job.Redrive
}

// Overview reads what the overview shows.
func (r Reader) Overview(ctx context.Context) (d Overview, err error) {
	list, err := inspect.Groups(ctx, r.Store, groups.Filter{})
	if err != nil {
		return d, err
	}
	redrives, err := r.Store.Operations().Redrives.List(ctx, "", 100)
	if err != nil {
		return d, err
	}
	if err := r.failing(ctx, &d, list, redrives); err != nil {
		return d, err
	}
	if d.Consumers, err = r.Consumers(ctx, ""); err != nil {
		return d, err
	}
	for i, c := range d.Consumers {
		d.Waiting, d.Lag = d.Waiting+c.Waiting(), max(d.Lag, c.Depth.Oldest)
		for _, g := range list {
			if g.Consumer == c.Consumer {
				d.Consumers[i].Dead += g.Open
			}
		}
	}
	var boxes []outbox.Status
	if boxes, err = r.Store.Outbox().List(ctx, ""); err != nil {
		return d, err
	}
	for _, o := range boxes {
		d.Events, d.Parked = d.Events+o.Ready+o.Delayed+o.Behind, d.Parked+o.Parked
	}
	for _, one := range redrives {
		if one.State == job.Paused {
			d.Paused = append(d.Paused, one)
		}
	}
	if d.Firing, err = r.firing(ctx, d.Groups); err != nil {
		return d, err
	}
	if d.Late, err = inspect.Late(ctx, r.Store); err != nil {
		return d, err
	}
	d.Oldest, err = r.oldest(ctx)
	return d, err
}

// failing puts the groups into d, in the order in which they need a person.
func (r Reader) failing(ctx context.Context, d *Overview, list []groups.Group, redrives []job.Redrive) error {
	now := time.Now()
	slices.SortStableFunc(list, func(a, b groups.Group) int { return cmp.Compare(need(a, now), need(b, now)) })
	var shown []groups.ID
	for _, g := range list[:min(len(list), groupsShown)] {
		shown = append(shown, g.ID)
	}
	days, err := r.Store.Operations().Groups.Day(ctx, shown)
	if err != nil {
		return err
	}
	for i, g := range list {
		d.Open += g.Open
		switch need(g, now) {
		case muted:
			d.Muted++
		case fresh:
			d.New++
		case worse:
			d.Worse++
		}
		if i >= groupsShown {
			d.More++
			continue
		}
		row, recent := groupRow(g, days[i], redrives, now)
		d.Recent, d.Groups = d.Recent+recent, append(d.Groups, row)
	}
	return nil
}

// How much groups need a person, the most first.
const (
	worse = iota
	fresh
	usual
	resolved
	muted
)

func need(g groups.Group, now time.Time) int {
	if g.Muted(now) {
		return muted
	}
	switch g.State {
	case groups.Regressed, groups.Escalating:
		return worse
	case groups.New:
		return fresh
	case groups.Resolved:
		return resolved
	}
	return usual
}

// groupRow is a group with its last day, and how many letters came in this hour.
func groupRow(g groups.Group, hours []groups.Hour, redrives []job.Redrive, now time.Time) (row GroupRow, recent int64) {
	row = GroupRow{Group: g, Muted: g.Muted(now)}
	for _, h := range hours {
		if h.Start.Equal(now.UTC().Truncate(time.Hour)) {
			recent += h.Count
		}
	}
	row.Spark, row.SparkSays = view.Spark(hours, need(g, now) <= fresh, now)
	for _, one := range redrives {
		if !one.State.Ended() && one.State != job.Planned && one.Chooses(g.Consumer, g.Handler, g.ErrorFingerprint) {
			row.Redrive = one
		}
	}
	return row, recent
}

// oldest is when the oldest open letter was written; zero if none is open.
func (r Reader) oldest(ctx context.Context) (time.Time, error) {
	var f dlq.Filter
	w, err := r.Store.Letters().Window(ctx, f, dlq.Span{}, 1, true)
	if err != nil || w.Looked == 0 {
		return time.Time{}, err
	}
	list, err := r.Store.Letters().ListIn(ctx, f, w.Span, 1)
	if err != nil || len(list) == 0 {
		return time.Time{}, err
	}
	return list[0].CreatedAt, nil
}
