package rehearsal

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/internal/encode"
)

// Kind is the kind of the requests.
const Kind = "rehearse"

// Usual is how many letters are rehearsed by default, and Most how many at most.
const (
	Usual = 20
	Most  = 100
)

// Args say which letters to rehearse.
type Args struct {
	// Letters are numbers of letters; with none, Filter chooses open letters by its Handler,
	// Topic, Class and ErrorFingerprint.
	Letters []int64    `json:"letters,omitempty"`
	Filter  dlq.Filter `json:"filter"`
	// Count is how many of those that the filter chooses: the oldest, the newest, and some
	// spread between. 0 means Usual.
	Count int `json:"count,omitempty"`
}

// Report is the answer to a request.
type Report struct {
	// Host and Build are those of the process.
	Host  string `json:"host"`
	Build string `json:"build"`
	// Of is how many letters were chosen from. Took is how long it took.
	Of   int64         `json:"of"`
	Took time.Duration `json:"duration_ns"`
	// The numbers of letters by outcome. NotReached are those for which there was no time.
	Pass       int `json:"pass"`
	Postponed  int `json:"postponed"`
	Fail       int `json:"fail"`
	Skipped    int `json:"skipped"`
	Applied    int `json:"applied"`
	NotReached int `json:"not_reached"`
	// Results are those of the letters, by their numbers.
	Results []Result `json:"results"`
}

// Outcome is what became of a letter in a rehearsal.
type Outcome string

// The outcomes.
const (
	Passes   Outcome = "pass"      // its message would be handled
	Postpone Outcome = "postponed" // the handler would ask to run it later
	Fails    Outcome = "fail"
	Skipped  Outcome = "skipped" // it was not rehearsed, or the rehearsal says nothing
	Applied  Outcome = "applied" // the handler committed: it is handled, and its letter closed
)

// Outcomes returns all outcomes.
func Outcomes() []Outcome { return []Outcome{Passes, Postpone, Fails, Skipped, Applied} }

// Group tells the group of a failure from that of the letter.
type Group string

// The groups.
const (
	SameGroup    Group = "same"
	AnotherGroup Group = "another" // the handler has letters of it
	NewGroup     Group = "new"
)

// Result is that of one letter.
type Result struct {
	LetterID int64   `json:"letter_id"`
	Handler  string  `json:"handler"`
	Outcome  Outcome `json:"outcome"`
	// Rows is how many rows of the program's tables it would write, -1 if that is unknown, and
	// Events what it would publish, by topic. Stale says that it would write nothing, since
	// something newer was applied.
	Rows   int64          `json:"rows"`
	Events map[string]int `json:"events,omitempty"`
	Stale  bool           `json:"stale,omitempty"`
	// Error is why it would fail or be postponed, ErrorFingerprint the group of a failure.
	Error            string `json:"error,omitempty"`
	ErrorFingerprint string `json:"error_fingerprint,omitempty"`
	Group            Group  `json:"group,omitempty"`
	// Why says why it was skipped, or what its handler did.
	Why string `json:"why,omitempty"`
}

// Publishes says in words what it would publish.
func (r Result) Publishes() string {
	var events []string
	for _, topic := range slices.Sorted(maps.Keys(r.Events)) {
		events = append(events, fmt.Sprintf("%d to %s", r.Events[topic], encode.Short(topic, topicShown)))
	}
	if len(events) == 0 {
		return "publishes nothing"
	}
	return "publishes " + strings.Join(events, ", ")
}

// topicShown is how many characters of a topic are shown.
const topicShown = 60

func (r *Report) add(one Result) {
	r.Results = append(r.Results, one)
	switch one.Outcome {
	case Passes:
		r.Pass++
	case Postpone:
		r.Postponed++
	case Fails:
		r.Fail++
	case Applied:
		r.Applied++
	default:
		r.Skipped++
	}
}

// spread returns at most n of ids, which are sorted: the first, the last, and those at equal
// distances between.
func spread(ids []int64, n int) []int64 {
	switch last := len(ids) - 1; {
	case last < n:
		return ids
	case n == 1:
		return ids[last:]
	default:
		chosen := make([]int64, n)
		for i := range chosen {
			chosen[i] = ids[i*last/(n-1)]
		}
		return chosen
	}
}
