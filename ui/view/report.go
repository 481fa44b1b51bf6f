package view

import (
	"cmp"
	"maps"
	"slices"

	"github.com/headrace/headrace/internal/rehearsal"
)

// Reason is an outcome that letters of a rehearsal share, with its cause.
type Reason struct {
	// Says describes the Outcome in words.
	Outcome, Says string
	// Kind is a class of the style sheet.
	Kind string
	// N is how many letters have it, and Letter is one of them.
	N      int
	Letter int64
	// Group is the fingerprint of another failure; "" if it is the same, or none.
	Group string
}

// Reasons puts the results of a rehearsal together: failures first, then the most frequent.
func Reasons(r rehearsal.Report) []Reason {
	all := make(map[Reason][]int64)
	for _, one := range r.Results {
		reason := reasonOf(one)
		all[reason] = append(all[reason], one.LetterID)
	}
	list := make([]Reason, 0, len(all))
	for reason, letters := range all {
		reason.N, reason.Letter = len(letters), letters[0]
		list = append(list, reason)
	}
	order := slices.Sorted(maps.Keys(outcomeKinds))
	slices.SortFunc(list, func(a, b Reason) int {
		return cmp.Or(cmp.Compare(slices.Index(order, rehearsal.Outcome(a.Outcome)), slices.Index(order, rehearsal.Outcome(b.Outcome))), cmp.Compare(b.N, a.N), cmp.Compare(a.Letter, b.Letter))
	})
	return list
}

var outcomeKinds = map[rehearsal.Outcome]string{
	rehearsal.Passes: "done", rehearsal.Fails: "dead", rehearsal.Postpone: "retrying", rehearsal.Skipped: "", rehearsal.Applied: "retrying",
}

func reasonOf(r rehearsal.Result) Reason {
	reason := Reason{Outcome: string(r.Outcome), Kind: outcomeKinds[r.Outcome], Says: r.Why}
	switch r.Outcome {
	case rehearsal.Passes:
		reason.Says = effects(r)
	case rehearsal.Fails:
		reason.Says = r.Error
		if r.Group != rehearsal.SameGroup {
			reason.Group = r.ErrorFingerprint
		}
	case rehearsal.Postpone:
		reason.Says = r.Error
	}
	return reason
}

// effects says what a handler would write and publish.
func effects(r rehearsal.Result) string {
	if r.Stale {
		return "nothing to do: something newer was applied"
	}
	rows := "writes " + Plural(r.Rows, "row", "rows")
	if r.Rows < 0 {
		rows = "rows unknown, track_counts is off"
	}
	return rows + " and " + r.Publishes()
}
