package watching

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/alerts/condition"
	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/groups"
	"github.com/headrace/headrace/dlq/job"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store"
)

// facts are what is known when a namespace is judged.
type facts struct {
	now     time.Time
	bounds  alerts.Bounds // with their defaults
	current []condition.Condition

	// Of a consumer; its name is not "".
	consumer        string
	groups          []groups.Group
	commands        map[groups.ID]string // that show groups
	part            bool                 // groups are only those that may have begun to fail
	oldest, unmuted time.Time            // the oldest open letter, and the oldest one that is not muted
	openLetters     time.Duration
	depth           backlog.Depth
	pause           instance.Pause
	redrives        []job.Redrive
	steps           map[ledger.State]int64
	sends           []condition.Send // by which sinks fail
	errorText       bool
	self            string         // the id of this process
	reports         []alerts.Alert // what it says of itself

	// Of the database; of a consumer only its own, if a condition is a report.
	instances []instance.Instance
	depths    []backlog.HandlerDepth
	stalled   map[string][]outbox.TopicStatus // by consumer
	deep      bool                            // depths and stalled were read
	outboxes  []outbox.Status
	schedules []store.Schedule
}

// judge says what is wrong, and of what it cannot tell.
func judge(f *facts) (list []condition.Finding) {
	if f.consumer != "" {
		list = slices.Concat(f.failing(), f.waiting(), f.jobs(), f.sinks(), f.reported())
	} else {
		list = slices.Concat(f.consumers(), f.events(), f.unowned(), f.lines(), f.ticks())
	}
	return slices.DeleteFunc(list, func(found condition.Finding) bool { return slices.Contains(f.bounds.Off, found.Kind) })
}

// finding is one of a kind.
func finding(kind alerts.Kind, severity alerts.Severity, consumer string) condition.Finding {
	return condition.Finding{Alert: alerts.Alert{Kind: kind, Severity: severity, Consumer: consumer, Count: 1}}
}

// say sets the texts: what happened, more about it, and the first command.
func say(c condition.Finding, title, more, command string) condition.Finding {
	c.Title, c.Command = title, command
	c.Text = title + "."
	if more != "" {
		c.Text += " " + more + "."
	}
	if command != "" {
		c.Text += " Next: " + command
	}
	return c
}

// of returns the condition of a finding, if it is pending or fires.
func (f *facts) of(a alerts.Alert) (condition.Condition, bool) {
	i := slices.IndexFunc(f.current, func(c condition.Condition) bool {
		return c.State != condition.Resolved && is(c, a)
	})
	if i < 0 {
		return condition.Condition{}, false
	}
	return f.current[i], true
}

// is reports whether c is the condition of a.
func is(c condition.Condition, a alerts.Alert) bool {
	return c.Kind == a.Kind && c.Consumer == a.Consumer && c.Handler == a.Handler && c.Topic == a.Topic && c.ErrorFingerprint == a.ErrorFingerprint
}

// past is how long ago t was, for people.
func (f *facts) past(t time.Time) string { return f.now.Sub(t).Round(time.Minute).String() }

func clock(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }

func plural(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// failing are the groups of dead letters, and the oldest of them.
func (f *facts) failing() (list []condition.Finding) {
	list = f.failingGroups()
	if !f.unmuted.IsZero() && f.now.Sub(f.unmuted) > f.bounds.LettersOld {
		c := finding(alerts.LettersOld, alerts.Warning, f.consumer)
		c.Since = f.unmuted.Add(f.bounds.LettersOld)
		list = append(list, say(c, fmt.Sprintf("%s: the oldest dead letter has waited for %s", f.consumer, f.past(f.unmuted)), "",
			"headrace dlq groups --consumer "+f.consumer))
	}
	limit := time.Duration(float64(f.openLetters) * f.bounds.LettersExpire)
	if limit > 0 && !f.oldest.IsZero() && f.now.Sub(f.oldest) > limit {
		c := finding(alerts.LettersExpire, alerts.Critical, f.consumer)
		list = append(list, say(c, fmt.Sprintf("%s: dead letters that are open will be removed from %s on", f.consumer, clock(f.oldest.Add(f.openLetters))),
			"Retention.OpenLetters says so", "headrace dlq groups --consumer "+f.consumer))
	}
	return list
}

const (
	// stormTime and stormGroups: more new groups of a handler in that time are one alert.
	stormTime   = 10 * time.Minute
	stormGroups = 10
)

// failingGroups has a finding for each group that began to fail, until it is resolved or muted.
func (f *facts) failingGroups() (list []condition.Finding) {
	storms := make(map[string]*condition.Finding)
	begun := make(map[string][]time.Time) // within the storm's time, by handler
	byAge := slices.SortedFunc(slices.Values(f.groups), func(a, b groups.Group) int {
		return cmp.Or(a.StateAt.Compare(b.StateAt), cmp.Compare(a.ErrorFingerprint, b.ErrorFingerprint))
	})
	for _, g := range byAge {
		before := slices.DeleteFunc(begun[g.Handler], func(at time.Time) bool { return g.StateAt.Sub(at) >= stormTime })
		before = before[max(len(before)-stormGroups, 0):]
		begun[g.Handler] = append(before, g.StateAt)
		if g.State == groups.Resolved || g.Muted(f.now) {
			continue
		}
		c := f.group(g)
		_, own := f.of(c.Alert)
		if !own && g.State == groups.Ongoing && !f.stormed(g) {
			continue // it did not begin while we looked
		}
		if own || !f.stormed(g) && len(before) < stormGroups {
			list = append(list, c)
			continue
		}
		s := storms[g.Handler]
		if s == nil {
			all := finding(alerts.GroupFailing, c.Severity, f.consumer)
			all.Handler, all.Since, all.Count = g.Handler, g.StateAt, 0
			s = &all
			storms[g.Handler] = s
		}
		s.Groups, s.Count, s.LetterID = s.Groups+1, s.Count+max(g.Open, 1), max(s.LetterID, g.LastLetter)
	}
	if f.part {
		list = append(list, f.unseen(storms)...)
	}
	for handler, s := range storms {
		list = append(list, say(*s, fmt.Sprintf("%s/%s fails for %d more reasons", f.consumer, handler, s.Groups),
			plural(s.Count, "message is a dead letter", "messages are dead letters"), "headrace dlq groups --consumer "+f.consumer))
	}
	return list
}

// unseen holds the conditions of groups that were not read. A storm has at least what it had.
func (f *facts) unseen(storms map[string]*condition.Finding) (list []condition.Finding) {
	read := make(map[groups.ID]bool, len(f.groups))
	for _, g := range f.groups {
		read[g.ID] = true
	}
	for _, c := range f.current {
		if c.Kind != alerts.GroupFailing || read[groups.ID{Consumer: c.Consumer, Handler: c.Handler, ErrorFingerprint: c.ErrorFingerprint}] {
			continue
		}
		if s := storms[c.Handler]; s != nil && c.ErrorFingerprint == "" {
			s.Groups, s.Count, s.LetterID = max(s.Groups, c.Groups), max(s.Count, c.Count), max(s.LetterID, c.LetterID)
			continue
		}
		list = append(list, condition.Finding{Alert: c.Alert, Unchanged: true})
	}
	return list
}

// stormed reports whether g is in the storm of its handler that fires: it began before the
// newest letter of that.
func (f *facts) stormed(g groups.Group) bool {
	c, ok := f.of(alerts.Alert{Kind: alerts.GroupFailing, Consumer: f.consumer, Handler: g.Handler})
	return ok && g.FirstLetter <= c.LetterID
}

// group is the finding of a group of dead letters.
func (f *facts) group(g groups.Group) condition.Finding {
	c := finding(alerts.GroupFailing, alerts.Warning, f.consumer)
	c.Handler, c.ErrorFingerprint, c.Class, c.LetterID, c.Build = g.Handler, g.ErrorFingerprint, string(g.Class), g.LastLetter, g.FirstBuild
	c.Count, c.Since = max(g.Open, 1), g.StateAt
	c.Known = g.Assignee != "" || g.Note != "" || g.Link != "" || f.planned(g)
	current, _ := f.of(c.Alert)
	young := f.now.Sub(g.First) < condition.GrowthTime && g.Total >= f.bounds.GroupLetters
	if g.State == groups.Escalating || g.State == groups.Regressed || young || !current.BaseAt.IsZero() && c.Count-current.Base >= f.bounds.GroupLetters {
		c.Severity = alerts.Error
	}
	c.Error = g.Sample
	if !f.errorText {
		c.Error = dlq.Normal(g.Sample)
	}
	what := plural(c.Count, "dead letter", "dead letters") + ", " + string(g.State) + " since " + clock(g.StateAt)
	if g.FirstBuild != "" {
		what += ", first in build " + g.FirstBuild
	}
	if c.Class == string(dlq.Parked) {
		what += ". docs/runbook.md says what to do"
	}
	title := fmt.Sprintf("%s/%s fails", f.consumer, g.Handler)
	if c.Error != "" {
		title += ": " + c.Error
	}
	return say(c, title, what, cmp.Or(f.commands[g.ID], "headrace dlq why "+g.ErrorFingerprint[:min(len(g.ErrorFingerprint), 16)]))
}

// planned reports whether a person has planned a redrive of the group.
func (f *facts) planned(g groups.Group) bool {
	return slices.ContainsFunc(f.redrives, func(r job.Redrive) bool {
		return !r.State.Ended() && r.Chooses(g.Consumer, g.Handler, g.ErrorFingerprint)
	})
}

// waiting is what waits in the backlog, and for a person.
func (f *facts) waiting() (list []condition.Finding) {
	paused := f.pause.Lasts()
	lag := finding(alerts.BacklogLag, alerts.Error, f.consumer)
	lag.Count, lag.For = max(f.depth.Ready, 1), 5*time.Minute
	lag.Unchanged = f.depth.Oldest <= f.bounds.BacklogLag && f.depth.Oldest >= f.bounds.BacklogLag/5
	if !paused && (lag.Unchanged || f.depth.Oldest > f.bounds.BacklogLag) {
		list = append(list, say(lag, fmt.Sprintf("%s: %s, the oldest for %s", f.consumer, plural(f.depth.Ready, "message is due and waits", "messages are due and wait"),
			f.depth.Oldest.Round(time.Second)), "", "headrace backlog groups --consumer "+f.consumer))
	}
	if work := f.depth.Ready + f.depth.Delayed + f.depth.Blocked; paused && work > 0 && f.now.Sub(f.pause.At) > f.bounds.Pause {
		c := finding(alerts.PauseForgotten, alerts.Warning, f.consumer)
		c.Count = work
		list = append(list, say(c, fmt.Sprintf("%s has been paused for %s, and %s", f.consumer, f.past(f.pause.At), plural(work, "message waits", "messages wait")), "",
			"headrace consumer resume "+f.consumer))
	}
	if n := f.steps[ledger.Parked]; n > 0 {
		c := finding(alerts.StepParked, alerts.Error, f.consumer)
		c.Count = n
		list = append(list, say(c, fmt.Sprintf("%s: a person must say what became of %s", f.consumer, plural(n, "step", "steps")),
			"docs/runbook.md says how", "headrace steps ls --state parked"))
	}
	if n := f.steps[ledger.Doubled]; n > 0 {
		c := finding(alerts.StepDoubled, alerts.Critical, f.consumer)
		c.Count = n
		list = append(list, say(c, fmt.Sprintf("%s: %s carried out twice", f.consumer, plural(n, "step was", "steps were")),
			"Undo the second call in the other system and say so, as docs/runbook.md tells", "headrace steps ls --state doubled"))
	}
	if n := f.steps[ledger.SkippedNow]; n > 0 {
		c := finding(alerts.StepSkipped, alerts.Warning, f.consumer)
		c.Count = n
		list = append(list, say(c, fmt.Sprintf("%s: %s skipped within an hour, since the outcome is unknown: they may be missing in the other system", f.consumer,
			plural(n, "step was", "steps were")), "docs/runbook.md says what to do", "headrace steps ls --state skipped"))
	}
	return list
}

// endedTime is how long after its end a redrive is told of, if no process looked before.
const endedTime = 24 * time.Hour

// becameOf says what became of the letters of a redrive, or of a discard.
func becameOf(r job.Redrive) string {
	of, skipped := plural(r.Count, "letter", "letters"), plural(r.Skipped, "was skipped", "were skipped")
	if r.Kind == job.Discarding {
		return fmt.Sprintf("Of %s, %s, %s", of, plural(r.Succeeded, "was discarded", "were discarded"), skipped)
	}
	return fmt.Sprintf("Of %s, %d succeeded, %d failed again, %s", of, r.Succeeded, r.FailedAgain, skipped)
}

// jobs are the redrives that need a person, and those that have ended.
func (f *facts) jobs() (list []condition.Finding) {
	for _, r := range f.redrives {
		name := job.Name(r.ID)
		c := finding(alerts.RedrivePaused, alerts.Warning, f.consumer)
		c.Topic = name
		switch {
		case r.State.Ended() && !r.Applied.IsZero() && f.now.Sub(r.Ended) < endedTime:
			c.Kind, c.Severity, c.Count, c.Since = alerts.RedriveEnded, alerts.Info, r.Count, r.Ended
			list = append(list, say(c, fmt.Sprintf("%s of %s is %s", name, f.consumer, r.State),
				becameOf(r),
				"headrace redrive show "+name))
		case r.State == job.Paused && !strings.HasPrefix(r.Why, "by "): // a person
			list = append(list, say(c, because(fmt.Sprintf("%s of %s has paused", name, f.consumer), r.Why), "", "headrace redrive show "+name))
		case r.State == job.Running && r.Queued()+r.UnderWay() > 0:
			c.Kind, c.For, c.Count = alerts.RedriveStalled, f.bounds.Stalled, r.Succeeded+r.FailedAgain+r.Unknown+r.Skipped
			if was, ok := f.of(c.Alert); ok && was.Count != c.Count {
				continue // it has an outcome since
			}
			why := r.Why
			if f.pause.Lasts() {
				why = f.consumer + " is paused" // without the words of who paused it
			}
			list = append(list, say(c, because(fmt.Sprintf("%s of %s has no outcome", name, f.consumer), why), "", "headrace redrive show "+name))
		}
	}
	return list
}

// because is a title with why, if that is known.
func because(title, why string) string {
	if why == "" {
		return title
	}
	return title + ": " + why
}

// sinks are those that take nothing.
func (f *facts) sinks() (list []condition.Finding) {
	failing := make(map[string]time.Time)
	for _, s := range f.sends {
		if first := failing[s.Sink]; !s.Down.IsZero() && (first.IsZero() || s.Down.Before(first)) {
			failing[s.Sink] = s.Down
		}
	}
	for name, since := range failing {
		if f.now.Sub(since) <= f.bounds.SinkFailing {
			continue
		}
		c := finding(alerts.SinkFailing, alerts.Warning, f.consumer)
		c.Topic, c.Since = name, since
		list = append(list, say(c, fmt.Sprintf("the sink %s of %s takes no alerts", name, f.consumer), "", "headrace alert ls"))
	}
	return list
}
