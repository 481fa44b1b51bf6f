package read

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/alerts/condition"
	"github.com/headrace/headrace/dlq/groups"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/inspect"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/ui/view"
)

// firingShown is how many alerts the overview shows; the rest is counted.
const firingShown = 10

// Firing is what alerts say, and what steps wait for.
type Firing struct {
	// Alerts are those that fire, the worst first, without those of groups that the page lists, which
	// Listed counts. Others counts those that are not shown.
	Alerts         []Alert
	Listed, Others int
	// Silent says of which alerts no process judges whether they still fire; "" of none.
	Silent string
	// Sinks counts those that got something, Failing those that take nothing now.
	Sinks, Failing int64
	// ParkedSteps need a person, SkippedSteps count as done, and PendingSteps are pending for an
	// hour; up to ledger.MaxCount of each.
	ParkedSteps, SkippedSteps, PendingSteps int64
	// Systems are those that are paused.
	Systems []ledger.SystemPause
}

// Fires is how many alerts fire.
func (f Firing) Fires() int { return len(f.Alerts) + f.Listed + f.Others }

// Alert is a condition that fires.
type Alert struct {
	condition.Condition
	// Path is the page about it, with ByConsumer and ByHandler in its query; "" is the overview.
	Path, ByConsumer, ByHandler string
	// Silent says that no process judges any more whether it fires, and Judged when the last one did; zero if that is
	// not known.
	Silent bool
	Judged time.Time
	// Got says which sinks got it, as "webhook, slack", and Sinks counts them.
	Got   string
	Sinks int64
}

// firing reads what fires beside the groups that are shown, and the steps and systems that wait for a person.
func (r Reader) firing(ctx context.Context, shown []GroupRow) (f Firing, err error) {
	ops := r.Store.Operations()
	list, err := ops.Conditions.List(ctx, "", true)
	if err != nil {
		return f, err
	}
	sends, err := ops.Conditions.Sends(ctx, "", "", true)
	if err != nil {
		return f, err
	}
	judges, err := inspect.ReadJudges(ctx, r.Store)
	if err != nil {
		return f, err
	}
	all := slices.Clone(list)
	list = slices.DeleteFunc(list, func(c condition.Condition) bool { return c.State != condition.Firing })
	f.Silent = silent(list, judges)
	fires := len(list)
	list = slices.DeleteFunc(list, func(c condition.Condition) bool {
		id := groups.ID{Consumer: c.Consumer, Handler: c.Handler, ErrorFingerprint: c.ErrorFingerprint}
		return c.Kind == alerts.GroupFailing && slices.ContainsFunc(shown, func(g GroupRow) bool { return g.ID == id })
	})
	f.Listed = fires - len(list)
	slices.SortStableFunc(list, func(a, b condition.Condition) int { return cmp.Compare(b.Severity.Rank(), a.Severity.Rank()) })
	f.Others = max(0, len(list)-firingShown)
	for _, c := range list[:len(list)-f.Others] {
		f.Alerts = append(f.Alerts, alertOf(c, sends, judges))
	}
	f.countSinks(all, sends)
	counts, err := ops.StepAdmin.Count(ctx, "", time.Hour)
	if err != nil {
		return f, err
	}
	f.ParkedSteps, f.SkippedSteps, f.PendingSteps = counts[ledger.Parked], counts[ledger.Skipped], counts[ledger.Pending]
	f.Systems, err = ops.Systems.List(ctx)
	f.Systems = slices.DeleteFunc(f.Systems, func(p ledger.SystemPause) bool { return p.Left <= 0 })
	return f, err
}

// goneTime is how long after its time a try is awaited: a process with another sink makes none.
const goneTime = time.Hour

// countSinks counts the sinks, and those that take nothing.
func (f *Firing) countSinks(list []condition.Condition, sends []condition.Send) {
	now, failing, of := time.Now(), make(map[string]bool), make(map[string]condition.Condition, len(list))
	for _, c := range list {
		of[c.Key] = c
	}
	for _, s := range sends {
		failing[s.Sink] = failing[s.Sink] || s.Fails(of[s.Key], now) && now.Before(s.Due.Add(goneTime))
	}
	for _, c := range list {
		if _, known := failing[c.Topic]; known && c.Kind == alerts.SinkFailing && c.State == condition.Firing {
			failing[c.Topic] = true
		}
	}
	for _, fails := range failing {
		if f.Sinks++; fails {
			f.Failing++
		}
	}
}

// silent says of which alerts no process judges whether they still fire.
func silent(list []condition.Condition, judges inspect.Judges) string {
	var of []string
	for _, c := range list {
		if _, silent := judges.Silent(c); silent && !slices.Contains(of, c.Namespace) {
			of = append(of, c.Namespace)
		}
	}
	switch len(of) {
	case 0:
		return ""
	case 1:
		return "no process of " + encode.Short(of[0], 24) + " judges them"
	}
	return "no process judges those of " + view.Plural(int64(len(of)), "consumer", "consumers")
}

// alertOf is a condition with the page about it.
func alertOf(c condition.Condition, sends []condition.Send, judges inspect.Judges) Alert {
	path, of := condition.Page(c.Alert)
	a := Alert{Condition: c, Path: path, ByConsumer: of.Get("consumer"), ByHandler: of.Get("handler")}
	a.Judged, a.Silent = judges.Silent(c)
	var got []string
	for _, s := range sends {
		if s.Key == c.Key && s.Phase != "" {
			got = append(got, s.Sink)
		}
	}
	a.Got, a.Sinks = strings.Join(got, ", "), int64(len(got))
	return a
}
