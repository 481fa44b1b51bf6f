package view

import (
	"slices"
	"time"

	"github.com/headrace/headrace/audit"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
)

// Event is a moment in the life of a message, or of a group.
type Event struct {
	// At is when it was.
	At time.Time
	// Kind is a class of the style sheet: "e" for a failure, "o" for a decision, "" otherwise.
	Kind string
	// What says what happened; Class is that of a letter, or ""; By says who did it, Reason why.
	What, Class, By, Reason string
	// Error is what failed, after Took, on Host in Build.
	Error, Host, Build string
	Took               time.Duration
	// LetterID and RedriveID are what it belongs to; 0 for none.
	LetterID, RedriveID int64
}

// Timeline is what is known of a message, the newest first. letters are all of it, one after
// another; attempts and trail are those of all of them.
func Timeline(letters []dlq.Letter, attempts []inbox.Attempt, trail []dlq.Audit) (events []Event) {
	for _, l := range letters {
		events = append(events, Event{At: l.CreatedAt, Kind: "e", What: "Dead", Class: string(l.Class), LetterID: l.LetterID})
	}
	if len(letters) > 0 && !letters[0].Delivery.Time.IsZero() {
		events = append(events, Event{At: letters[0].Delivery.Time, What: "Sent"})
	}
	for _, a := range attempts {
		events = append(events, Event{At: a.At, Kind: "e", What: "Attempt " + Count(int64(a.N)), Error: a.Error, Host: a.Host, Build: a.Build, Took: a.Duration})
	}
	for _, t := range trail {
		events = append(events, Event{At: t.At, Kind: "o", What: decided(t.Action), By: t.By, Reason: t.Reason, LetterID: t.LetterID, RedriveID: t.RedriveID})
	}
	// At the same moment, the attempt comes before the letter, and the letter before a decision on it.
	order := map[string]int{"Sent": 0, "Dead": 2}
	slices.SortStableFunc(events, func(a, b Event) int {
		if c := b.At.Compare(a.At); c != 0 {
			return c
		}
		return order[b.What] - order[a.What]
	})
	return events
}

// Life is what people and processes did with a group or a redrive, the newest first, as the audit
// has it.
func Life(rows []audit.Row) []Event {
	events := make([]Event, 0, len(rows))
	for _, r := range rows {
		e := Event{At: r.At, Kind: "o", What: decided(r.Action), By: r.By, Reason: r.Reason, RedriveID: r.RedriveID}
		if e.Reason == "" {
			e.Reason = r.Detail
		}
		events = append(events, e)
	}
	return events
}

// decided says what was done.
func decided(action string) string {
	past := map[string]string{
		"redrive": "Redriven", "discard": "Discarded", "restore": "Restored", "edit": "Edited", "reveal": "Values shown", "download": "Downloaded", "import": "Imported", "export": "Exported",
		"plan": "Planned", "apply": "Applied", "pause": "Paused", "resume": "Resumed", "cancel": "Cancelled",
		"new": "New", "ongoing": "Ongoing", "escalating": "Escalating", "resolved": "Resolved", "regressed": "Regressed", "resolve": "Resolved", "mute": "Muted", "unmute": "Unmuted", "note": "Noted",
		"rehearse": "Rehearsed", "rehearse-fails": "Rehearsed",
	}
	if said, ok := past[action]; ok {
		return said
	}
	return action
}
