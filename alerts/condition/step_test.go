package condition_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/alerts/condition"
)

const quiet = 5 * time.Minute

var start = time.Date(2026, 3, 1, 2, 0, 0, 0, time.UTC)

func wrong(severity alerts.Severity, count int64) *condition.Finding {
	return &condition.Finding{Alert: alerts.Alert{Kind: alerts.BacklogLag, Severity: severity, Count: count}, For: time.Minute}
}

// unchanged is the finding of what is neither wrong nor right.
var unchanged = &condition.Finding{Unchanged: true}

// A condition fires once it has been wrong for long enough, and is resolved after a time of quiet.
func TestLifeOfACondition(t *testing.T) {
	var c condition.Condition
	for _, look := range []struct {
		minute   int
		finding  *condition.Finding
		state    condition.State
		severity alerts.Severity
		gone     bool
	}{
		{0, unchanged, "", "", true},
		{0, wrong(alerts.Warning, 1), condition.Pending, alerts.Warning, false},
		{0, nil, condition.Pending, alerts.Warning, true}, // it was wrong for too short a time
		{1, wrong(alerts.Warning, 1), condition.Pending, alerts.Warning, false},
		{2, wrong(alerts.Warning, 1), condition.Firing, alerts.Warning, false},
		{3, wrong(alerts.Error, 1), condition.Firing, alerts.Error, false},
		{4, wrong(alerts.Warning, 1), condition.Firing, alerts.Error, false}, // of one incident it only rises
		{5, nil, condition.Firing, alerts.Error, false},
		{9, nil, condition.Firing, alerts.Error, false},
		{9, wrong(alerts.Error, 1), condition.Firing, alerts.Error, false}, // the quiet begins anew
		{10, nil, condition.Firing, alerts.Error, false},
		{14, unchanged, condition.Firing, alerts.Error, false},
		{15, nil, condition.Resolved, alerts.Error, false},
		{20, nil, condition.Resolved, alerts.Error, false},
		{21, wrong(alerts.Warning, 1), condition.Pending, alerts.Warning, false}, // the next incident
		{21, nil, condition.Resolved, alerts.Warning, false},                     // which was none
		{22, wrong(alerts.Warning, 1), condition.Pending, alerts.Warning, false},
		{23, wrong(alerts.Warning, 1), condition.Firing, alerts.Warning, false},
	} {
		now := start.Add(time.Duration(look.minute) * time.Minute)
		next, keep := condition.Step(c, look.finding, now, quiet)
		if keep == look.gone || keep && (next.State != look.state || next.Severity != look.severity) {
			t.Fatalf("minute %d: kept %v, %s, %s; want %+v", look.minute, keep, next.State, next.Severity, look)
		}
		if c = next; !keep {
			c = condition.Condition{}
		}
	}
}

// What a sink is told next, by what it knows.
func TestWhatASinkIsTold(t *testing.T) {
	knows := func(phase alerts.Phase, ago time.Duration) condition.Send {
		return condition.Send{Phase: phase, Severity: alerts.Warning, Count: 9, Sent: start.Add(-ago)}
	}
	is := func(state condition.State, severity alerts.Severity, count int64) condition.Condition {
		return condition.Condition{State: state, Alert: alerts.Alert{Severity: severity, Count: count}}
	}
	fires := is(condition.Firing, alerts.Warning, 9)
	eased, known := fires, fires
	eased.Quiet, known.Known = start, true
	again := is(condition.Pending, alerts.Warning, 9)
	again.Ended = start
	waits := condition.Send{Due: start.Add(time.Second)}
	for name, w := range map[string]struct {
		c    condition.Condition
		s    condition.Send
		want alerts.Phase
	}{
		"pending":               {is(condition.Pending, alerts.Warning, 9), condition.Send{}, ""},
		"fires":                 {fires, condition.Send{}, alerts.Firing},
		"told":                  {fires, knows(alerts.Firing, 23*time.Hour), ""},
		"each day":              {fires, knows(alerts.Firing, 24*time.Hour), alerts.Again},
		"a person knows":        {known, knows(alerts.Firing, 24*time.Hour), ""},
		"quiet for a while":     {eased, condition.Send{}, ""},
		"quiet, told yesterday": {eased, knows(alerts.Firing, 24*time.Hour), ""},
		"worse":                 {is(condition.Firing, alerts.Error, 9), knows(alerts.Again, 0), alerts.Again},
		"a power of ten":        {is(condition.Firing, alerts.Warning, 10), knows(alerts.Firing, 0), alerts.Again},
		"more":                  {is(condition.Firing, alerts.Warning, 8), knows(alerts.Firing, 0), ""},
		"over":                  {is(condition.Resolved, alerts.Warning, 9), knows(alerts.Again, 0), alerts.Resolved},
		"over, pending again":   {again, knows(alerts.Firing, 0), alerts.Resolved},
		"over, never told":      {is(condition.Resolved, alerts.Warning, 9), condition.Send{}, ""},
		"over, and told":        {is(condition.Resolved, alerts.Warning, 9), knows(alerts.Resolved, 0), ""},
		"fires again":           {fires, knows(alerts.Resolved, 0), alerts.Firing},
		"waits after a failure": {fires, waits, ""},
	} {
		if got := condition.Next(w.c, w.s, start); got != w.want {
			t.Errorf("%s: %q, want %q", name, got, w.want)
		}
	}
}

// A sink hears Firing first, and Resolved once, after Firing. In the end it has heard what is true,
// unless it has refused for good, and waits for a day.
func TestASinkHearsTheTruth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c condition.Condition
		var s condition.Send
		heard, now := alerts.Phase(""), start
		look := func(found *condition.Finding, answer string) {
			next, keep := condition.Step(c, found, now, quiet)
			if c = next; !keep {
				c = condition.Condition{}
			}
			phase := condition.Next(c, s, now)
			open := heard == alerts.Firing || heard == alerts.Again
			switch {
			case phase == "":
				return
			case (phase == alerts.Firing) == open:
				t.Fatalf("%q after %q", phase, heard)
			case answer == "took":
				s, heard = s.Took(phase, c, now), phase
			default:
				lost := s.Lost
				s = s.Failed(phase, c, now, 30*time.Second, "refused", answer == "final")
				if s.Lost > lost && phase == alerts.Resolved {
					heard = phase // it never will
				}
			}
		}
		answers := rapid.SampledFrom([]string{"took", "took", "failed", "final"})
		finds := rapid.SampledFrom([]*condition.Finding{nil, nil, unchanged, wrong(alerts.Warning, 1), wrong(alerts.Error, 200)})
		for range rapid.IntRange(1, 40).Draw(t, "looks") {
			now = now.Add(time.Duration(rapid.IntRange(1, 400).Draw(t, "seconds")) * time.Second)
			look(finds.Draw(t, "found"), answers.Draw(t, "answer"))
		}
		last := rapid.SampledFrom([]*condition.Finding{nil, wrong(alerts.Error, 200)}).Draw(t, "last")
		for range 8 {
			now = now.Add(4 * time.Minute)
			look(last, "took")
		}
		if open := heard == alerts.Firing || heard == alerts.Again; now.After(s.Due) && open != (last != nil) {
			t.Fatalf("it heard %q last, and the truth is %v", heard, c.State)
		}
	})
}
