package watching

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/alerts/condition"
	"github.com/headrace/headrace/dlq/groups"
)

// jobs is how many redrives are looked at.
const jobs = 100

// consumerFacts reads what is known of a consumer.
func (w *Watch) consumerFacts(ctx context.Context, f *facts) error {
	ops := w.o.Store.Operations()
	var errs [7]error
	f.groups, errs[0] = ops.Groups.List(ctx, groups.Filter{Consumer: f.consumer, Closed: true})
	f.oldest, f.unmuted, errs[1] = w.store().Oldest(ctx, f.consumer)
	f.depth, errs[2] = w.o.Store.Backlog().Counts.Depth(ctx, f.consumer)
	f.pause, errs[3] = ops.Pauses.Get(ctx, f.consumer)
	f.redrives, errs[4] = ops.Redrives.List(ctx, f.consumer, jobs)
	f.steps, errs[5] = ops.StepAdmin.Count(ctx, f.consumer, 0)
	f.sends, errs[6] = w.store().Sends(ctx, f.consumer, "", false)
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
	if f.now.Sub(w.deep) > deepEvery {
		f.depths, errs[3] = w.o.Store.Backlog().Counts.Depths(ctx)
		f.stalled, errs[4] = w.stalledTopics(ctx)
		f.deep = errs[3] == nil && errs[4] == nil
		w.deep = f.now
	}
	return errors.Join(errs[:]...)
}

// links are the pages about an alert; none without the address of the page.
func links(base string, a alerts.Alert) []alerts.Link {
	base = strings.TrimSuffix(base, "/")
	switch {
	case base == "":
		return nil
	case a.ErrorFingerprint != "":
		of := url.Values{"consumer": {a.Consumer}, "handler": {a.Handler}}
		return []alerts.Link{{Name: "group", URL: base + "/g/" + url.PathEscape(a.ErrorFingerprint) + "?" + of.Encode()}}
	case a.Kind == alerts.RedrivePaused, a.Kind == alerts.RedriveStalled, a.Kind == alerts.RedriveEnded:
		return []alerts.Link{{Name: "redrive", URL: base + "/r/" + url.PathEscape(strings.TrimPrefix(a.Topic, "R-"))}}
	}
	return []alerts.Link{{Name: "overview", URL: base + "/"}}
}
