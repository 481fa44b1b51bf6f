package watching

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/alerts/condition"
	"github.com/headrace/headrace/dlq/groups"
)

const (
	// jobs is how many redrives are looked at.
	jobs = 100
	// fewGroups is how many groups are all looked at each time; of more, only newGroups of those that may
	// have begun to fail, and all once in deepEvery.
	fewGroups = 100
	newGroups = 1000
)

// turn reports whether it is time for what is done once in deepEvery by all processes together.
func (w *Watch) turn(ctx context.Context, name string) (bool, error) {
	_, ok, err := w.store().Lease(ctx, name, w.o.Owner, leaseTime, deepEvery)
	if err != nil || !ok {
		return false, err
	}
	return true, w.release(ctx, name, true)
}

// groups reads the groups of a consumer: all, or those that may have begun to fail.
func (w *Watch) groups(ctx context.Context, f *facts) (err error) {
	reader := w.o.Store.Operations().Groups
	if w.many {
		all, err := w.turn(ctx, "groups:"+f.consumer)
		if err != nil {
			return err
		}
		f.part = !all
	}
	if f.part {
		f.groups, err = reader.Begun(ctx, f.consumer, newGroups)
		return err
	}
	f.groups, err = reader.List(ctx, groups.Filter{Consumer: f.consumer, Closed: true})
	w.many = len(f.groups) > fewGroups
	return err
}

// consumerFacts reads what is known of a consumer.
func (w *Watch) consumerFacts(ctx context.Context, f *facts) error {
	ops := w.o.Store.Operations()
	var errs [7]error
	if errs[0] = w.groups(ctx, f); errs[0] == nil {
		errs[0] = w.commands(ctx, f)
	}
	f.oldest, f.unmuted, errs[1] = w.store().Oldest(ctx, f.consumer)
	f.depth, errs[2] = w.o.Store.Backlog().Counts.Depth(ctx, f.consumer)
	f.pause, errs[3] = ops.Pauses.Get(ctx, f.consumer)
	f.redrives, errs[4] = ops.Redrives.List(ctx, f.consumer, jobs)
	f.steps, errs[5] = ops.StepAdmin.Count(ctx, f.consumer, 0)
	f.sends, errs[6] = w.store().Sends(ctx, f.consumer, "", false)
	of := make(map[string]condition.Condition, len(f.current))
	for _, c := range f.current {
		of[c.Key] = c
	}
	f.sends = slices.DeleteFunc(f.sends, func(s condition.Send) bool { // a sink of before, or a failure of before
		return w.o.Callers[s.Sink] == nil || !s.Fails(of[s.Key], f.now)
	})
	if slices.ContainsFunc(f.current, func(c condition.Condition) bool { return c.Instance != "" }) {
		var err error
		if f.instances, err = ops.Instances.List(ctx, f.consumer); err != nil {
			return err
		}
	}
	return errors.Join(errs[:]...)
}

// databaseFacts reads what is known of the database, and now and then of the whole backlog.
func (w *Watch) databaseFacts(ctx context.Context, f *facts) error {
	ops := w.o.Store.Operations()
	var errs [5]error
	f.instances, errs[0] = ops.Instances.List(ctx, "")
	f.outboxes, errs[1] = w.o.Store.Outbox().List(ctx, "")
	f.schedules, errs[2] = ops.Schedules.List(ctx)
	if f.deep, errs[3] = w.turn(ctx, "deep:"); f.deep && errs[3] == nil {
		f.depths, errs[3] = w.o.Store.Backlog().Counts.Depths(ctx)
		f.stalled, errs[4] = w.stalledTopics(ctx)
	}
	return errors.Join(errs[:]...)
}

// links are the pages about an alert; none without the address of the page.
func links(base string, a alerts.Alert) []alerts.Link {
	if base == "" {
		return nil
	}
	path, of := condition.Page(a)
	to := strings.TrimSuffix(base, "/") + "/" + path
	if len(of) > 0 {
		to += "?" + of.Encode()
	}
	name, _, _ := strings.Cut(path, "/")
	return []alerts.Link{{Name: cmp.Or(map[string]string{"g": "group", "r": "redrive"}[name], name, "overview"), URL: to}}
}
