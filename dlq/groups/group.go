package groups

import (
	"errors"
	"time"

	"github.com/headrace/headrace/dlq"
)

// ErrNotFound matches the error for a group that does not exist.
var ErrNotFound = errors.New("no such group")

// ID names a group.
type ID struct {
	// Consumer and Handler gave the letters up, for the reason of ErrorFingerprint.
	Consumer         string `json:"consumer"`
	Handler          string `json:"handler"`
	ErrorFingerprint string `json:"error_fingerprint"`
}

// State says whether a group needs a person.
type State string

// The states of a group.
const (
	// New: its first letter, or the first for 30 days, came in the last 24 hours.
	New State = "new"
	// Ongoing: it goes on as usual.
	Ongoing State = "ongoing"
	// Escalating: many more letters come than usual.
	Escalating State = "escalating"
	// Resolved: a person said so, or all its letters are closed.
	Resolved State = "resolved"
	// Regressed: it was resolved, and a letter came in the last 24 hours.
	Regressed State = "regressed"
)

// States returns all states.
func States() []State { return []State{New, Ongoing, Escalating, Resolved, Regressed} }

// Openings returns the states of a group that a person should look at.
func Openings() []State { return []State{New, Escalating, Regressed} }

// Group is what is known of the letters of one handler with the same error fingerprint. Times
// are by the database's clock.
type Group struct {
	ID
	// Class is that of the newest letter.
	Class dlq.Class `json:"class"`
	// State is since StateAt what it is.
	State   State     `json:"state"`
	StateAt time.Time `json:"state_since"`
	// Open counts the open letters, Total all that were ever opened.
	Open  int64 `json:"open"`
	Total int64 `json:"total"`
	// First and Last are when the first and the newest letter were written, by the builds
	// FirstBuild and LastBuild ("" if unknown).
	First      time.Time `json:"first"`
	Last       time.Time `json:"last"`
	FirstBuild string    `json:"first_build"`
	LastBuild  string    `json:"last_build"`
	// FirstLetter and LastLetter are these letters. Sample is the error of the newest one, cut.
	FirstLetter int64  `json:"first_letter_id"`
	LastLetter  int64  `json:"last_letter_id"`
	Sample      string `json:"error"`
	// ResolvedAt is when it was resolved the last time, zero if never; ResolvedBy by whom, ""
	// if by itself. Letters of builds older than ResolvedBuild do not make it regressed; "" if
	// only time counts, as where the last letters were discarded.
	ResolvedAt    time.Time `json:"resolved_at,omitzero"`
	ResolvedBy    string    `json:"resolved_by,omitempty"`
	ResolvedBuild string    `json:"resolved_build,omitempty"`
	// Mute is without MutedBy if it is not muted.
	Mute
	// Assignee, Note and Link are what people noted.
	Assignee string `json:"assignee,omitempty"`
	Note     string `json:"note,omitempty"`
	Link     string `json:"link,omitempty"`
}

// Mute says until when a group sends no alerts.
type Mute struct {
	// MutedBy is who muted it; "" if it is not muted.
	MutedBy string `json:"muted_by,omitempty"`
	// MutedUntil is when that ends; zero if no time ends it.
	MutedUntil time.Time `json:"muted_until,omitzero"`
	// MutedCount is the Total that ends it; 0 if none does.
	MutedCount int64 `json:"muted_count,omitempty"`
	// EvenIfWorse says that it lasts when the group becomes regressed or escalating.
	EvenIfWorse bool `json:"muted_even_if_worse,omitempty"`
}

// Muted reports whether the group is muted at a time.
func (g Group) Muted(now time.Time) bool {
	return g.MutedBy != "" && (g.MutedUntil.IsZero() || now.Before(g.MutedUntil)) && (g.MutedCount == 0 || g.Total < g.MutedCount)
}

// Open is what is open of the groups of one state.
type Open struct {
	// Groups is how many groups have open letters, and Oldest the age of the oldest of these.
	Groups int64
	Oldest time.Duration
}

// Filter chooses groups. The zero value chooses all that have open letters; every field
// that is set narrows it.
type Filter struct {
	// Consumer, Handler and ErrorFingerprint are those of the group; empty means any.
	Consumer, Handler, ErrorFingerprint string
	// Closed chooses groups without open letters, too.
	Closed bool
}

// Hour counts the letters of a group that a build wrote in an hour.
type Hour struct {
	// Start is when the hour begins, in UTC.
	Start time.Time `json:"hour"`
	// Build wrote them; "" if unknown. Count is how many, First when the first one was
	// written, by the database's clock.
	Build string    `json:"build"`
	Count int64     `json:"count"`
	First time.Time `json:"first"`
}

// Build is a version of the user's program.
type Build struct {
	// Name is what the program says; "" if it says nothing.
	Name string `json:"build"`
	// First is when the consumer first started it, and Running how many processes run it.
	First   time.Time `json:"first_start"`
	Running int       `json:"running"`
}

// Change is how many letters of a group and a build a statement opened and closed.
type Change struct {
	ID
	// Class and Build are those of the letters.
	Class dlq.Class
	Build string
	// Opened and Closed are numbers of letters; Expired is how many of those closed were
	// removed by retention while they were open, and Discarded how many were discarded.
	Opened, Closed, Expired, Discarded int64
	// Oldest and Newest are letters that were opened; 0 if none was.
	Oldest, Newest int64
	// At is the time of the newest, by the database's clock.
	At time.Time
}
