package view

import (
	"fmt"

	"github.com/headrace/headrace/dlq/job"
	"github.com/headrace/headrace/internal/inspect"
)

// Outcome is an outcome of letters in a redrive.
type Outcome struct {
	// Kind is a class of the style sheet, Says the outcome in words.
	Kind, Says string
	// N is how many letters have it.
	N int64
}

// barWidth is the width of a bar of outcomes.
const barWidth = 1000.0

// OutcomesOf lists the outcomes of a redrive, and draws them as a bar in the same order. It always
// has succeeded, failed again and queued, and others only if a letter has them.
func OutcomesOf(r job.Redrive, counts map[job.Outcome]int64) (list []Outcome, bar []Rect) {
	succeeded, queued := "succeeded", "to go"
	if r.State.Ended() {
		queued = "not sent"
	}
	if r.Kind == job.Discarding {
		succeeded = "discarded"
	}
	x := 0.0
	for _, o := range []struct {
		of         job.Outcome
		kind, says string
		always     bool
	}{
		{job.Succeeded, "b-ok", succeeded, true}, {job.FailedAgain, "b-bad", "failed again", true}, {job.Retrying, "b-re", "retrying", false},
		{job.Postponed, "b-re", "postponed", false}, {job.InBacklog, "b-fly", "under way", false}, {job.Skipped, "b-sup", "skipped", false},
		{job.Unknown, "b-sup", "unknown", false}, {job.Queued, "b-go", queued, true},
	} {
		n := counts[o.of]
		if n > 0 || o.always {
			list = append(list, Outcome{o.kind, o.says, n})
		}
		if n > 0 && r.Count > 0 && o.of != job.Queued {
			w := barWidth * float64(n) / float64(r.Count)
			bar = append(bar, Rect{X: round(x), W: max(2, round(w)), Kind: o.kind})
			x += w
		}
	}
	return list, bar
}

// Stage is a part of a redrive.
type Stage struct {
	// N counts from 1, and Letters is how many letters it has.
	N       int
	Letters int64
	// State is "done", the state of the redrive in its present stage, or "".
	State string
	// Rule says when it goes on.
	Rule string
}

// StagesOf lists the stages of a redrive.
func StagesOf(r job.Redrive) (list []Stage) {
	sizes := inspect.Stages(r)
	for i, n := range sizes {
		s := Stage{N: i + 1, Letters: n, Rule: "all succeeded"}
		if i >= len(r.Stages) {
			s.Rule = fmt.Sprintf("pauses above %v %% of the last 100 outcomes", r.PauseAt)
		}
		switch {
		case r.Stage == 0 || r.State == job.Planned:
		case i+1 < r.Stage || r.State == job.Done:
			s.State = "done"
		case i+1 == r.Stage:
			s.State = string(r.State)
		}
		list = append(list, s)
	}
	return list
}
