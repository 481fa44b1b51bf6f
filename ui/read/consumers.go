package read

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/inspect"
	"github.com/headrace/headrace/ui/view"
)

// Consumer is a consumer in a list.
type Consumer struct {
	// Consumer is its name, Processes how many run.
	Consumer  string
	Processes int
	// Ended counts processes that ended unexpectedly.
	Ended int
	// Last is when the last of them ended, or gave its last sign of life; zero while one runs.
	Last time.Time
	// Pause is zero unless it is paused. Builds counts the processes that run.
	Pause  instance.Pause
	Builds map[string]int
	// Depth is its backlog, and Dead counts its open letters, in the overview.
	Depth backlog.Depth
	Dead  int64
	// Instances are its processes.
	Instances []instance.Instance
	// Work is what those that run did lately.
	Work instance.Work
	// Seen is what the forms carry.
	Seen string
}

// ConsumerSeen is what the forms of a consumer carry: whether it is paused.
func ConsumerSeen(c Consumer) string { return view.Seen(c.Pause.Consumer, c.Pause.At) }

// Handlers is how many handlers those that run have.
func (c Consumer) Handlers() int64 {
	names := make(map[string]bool)
	for _, i := range c.Instances {
		if !i.Alive() {
			continue
		}
		for _, name := range i.Handlers {
			names[name] = true
		}
	}
	return int64(len(names))
}

// Lag says how bad it is that messages wait: "warn" from a minute on, "bad" from when it alerts.
func (c Consumer) Lag() string {
	switch {
	case c.Depth.Oldest >= alerts.Bounds{}.WithDefaults().BacklogLag:
		return "bad"
	case c.Depth.Oldest >= time.Minute:
		return "warn"
	}
	return ""
}

// Waiting is how many messages wait.
func (c Consumer) Waiting() int64 { return c.Depth.Ready + c.Depth.Delayed + c.Depth.Blocked }

// last is when the last process ended, or gave its last sign of life; zero while one runs.
func last(list []instance.Instance) (at time.Time) {
	for _, i := range list {
		if i.Alive() {
			return time.Time{}
		}
		if seen := inspect.LastSign(i); seen.After(at) {
			at = seen
		}
	}
	return at
}

// Consumers reads the consumers, or the one called only, by name.
func (r Reader) Consumers(ctx context.Context, only string) ([]Consumer, error) {
	ops := r.Store.Operations()
	pauses, err := ops.Pauses.List(ctx)
	if err != nil {
		return nil, err
	}
	instances, err := ops.Instances.List(ctx, only)
	if err != nil {
		return nil, err
	}
	rows := make(map[string]*Consumer)
	of := func(name string) *Consumer {
		if rows[name] == nil {
			rows[name] = &Consumer{Consumer: name, Builds: make(map[string]int)}
		}
		return rows[name]
	}
	for _, p := range pauses {
		if only == "" || p.Consumer == only {
			if row := of(p.Consumer); p.Lasts() {
				row.Pause = p
			}
		}
	}
	for _, i := range instances {
		row := of(i.Consumer)
		row.Instances = append(row.Instances, i)
		switch {
		case i.Alive():
			row.Processes++
			row.Builds[i.Build]++
		case i.Ended.IsZero():
			row.Ended++
		}
	}
	list := make([]Consumer, 0, len(rows))
	for _, row := range rows {
		if row.Depth, err = r.Store.Backlog().Depth(ctx, row.Consumer); err != nil {
			return nil, err
		}
		row.Last = last(row.Instances)
		row.Seen, row.Work = ConsumerSeen(*row), instance.WorkOf(row.Instances)
		list = append(list, *row)
	}
	slices.SortFunc(list, func(a, b Consumer) int { return cmp.Compare(a.Consumer, b.Consumer) })
	return list, nil
}
