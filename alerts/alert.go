package alerts

import (
	"maps"
	"slices"
	"time"
)

// Alert is what a sink is given: that a condition fires, gets worse or is resolved, or an event
// of a process. Fields that do not apply are empty. It contains names, counts and text of ours:
// no payload, key, header or message id. The text of an error is in it only as Error says.
type Alert struct {
	// ID names this alert. It is the same each time that the alert is tried again, except for
	// an alert of several Groups, which may contain other groups by then. Sinks always get one;
	// "headrace alert ls" shows conditions, which have none.
	ID string `json:"id,omitempty"`
	// Key names the incident: the same for its Firing, Again and Resolved, also from another
	// process, and different in every database and environment. It has 64 hexadecimal digits.
	Key string `json:"key,omitempty"`
	// Kind says what happened.
	Kind Kind `json:"kind"`
	// Phase says what became of the incident, Severity how much it matters.
	Phase    Phase    `json:"phase,omitempty"`
	Severity Severity `json:"severity,omitempty"`
	// Consumer, Handler and Topic say where it happened. What concerns the whole database,
	// such as its outbox, has no Consumer.
	Consumer string `json:"consumer,omitempty"`
	Handler  string `json:"handler,omitempty"`
	Topic    string `json:"topic,omitempty"`
	// Environment is that of the process (consumer.Config.Environment), Database is the name
	// of the database and Schema its schema. Build is the build that fails if that is known,
	// otherwise that of the process.
	Environment string `json:"environment,omitempty"`
	Database    string `json:"database,omitempty"`
	Schema      string `json:"schema,omitempty"`
	Build       string `json:"build,omitempty"`
	// Class says, for dead letters, why the newest was given up (see dlq.Class).
	Class string `json:"class,omitempty"`
	// ErrorFingerprint groups dead letters that failed for the same reason: it is the
	// argument of "headrace dlq why".
	ErrorFingerprint string `json:"error_fingerprint,omitempty"`
	// LetterID is the newest dead letter of the alert; 0 if there is none.
	LetterID int64 `json:"letter_id,omitempty"`
	// Title is one line: what happened, and where. Text says in a few sentences what
	// happened and what to do.
	Title string `json:"title,omitempty"`
	Text  string `json:"text"`
	// Error is the error of the newest letter with numbers, quoted words and addresses
	// replaced by #; with Options.ErrorText as it is. "" if there is none.
	Error string `json:"error,omitempty"`
	// Command is the first command to run, without the name of the program's own flags:
	// "headrace dlq why 7f3a". Links are pages to look at, the first one first.
	Command string `json:"command,omitempty"`
	Links   []Link `json:"links,omitempty"`
	// Count is how many there are; 0 means 1. Of an event without a Phase it counts those
	// since the last alert. If two kinds end each other (Paused and Resumed), only the newest
	// is sent, with the count of both.
	Count int64 `json:"count"`
	// Groups is how many groups the alert sums up, if too many are due at once; 0 means
	// 1. Handler, Topic, Class, ErrorFingerprint and LetterID may then be empty.
	Groups int64 `json:"groups"`
	// Since is when the first of Count happened, or the condition began; At when the newest
	// did, or the condition changed. A Webhook has At beside its data.
	Since time.Time `json:"since"`
	At    time.Time `json:"-"`
}

// Link is a page about an alert.
type Link struct {
	// Name says what is there, in a word or two. URL is absolute.
	Name string `json:"name"`
	URL  string `json:"url"`
}

// Phase says what became of an incident.
type Phase string

// The phases of an incident. A sink gets Firing first, then any number of Again, then
// Resolved; after that the same Key may fire again.
const (
	// Firing: it began.
	Firing Phase = "firing"
	// Again: it is worse, there are many more, or it is another day.
	Again Phase = "again"
	// Resolved: it is over.
	Resolved Phase = "resolved"
)

// Severity says how much an alert matters.
type Severity string

// The severities, the least first.
const (
	Info     Severity = "info"     // for a log
	Warning  Severity = "warning"  // to be looked at in working hours
	Error    Severity = "error"    // messages fail or wait, and a person must act soon
	Critical Severity = "critical" // work stands still, or was done twice
)

// Rank orders severities: 1 is Info, 4 Critical, 0 unknown.
func (s Severity) Rank() int { return slices.Index(severities, s) + 1 }

var severities = []Severity{Info, Warning, Error, Critical}

// Severities returns all severities, the least first.
func Severities() []Severity { return slices.Clone(severities) }

// Labels are what an alert belongs to: environment, database, schema, consumer and build,
// without those that are empty. The caller may change the map.
func (a Alert) Labels() map[string]string {
	labels := map[string]string{
		"environment": a.Environment, "database": a.Database, "schema": a.Schema, "consumer": a.Consumer, "build": a.Build,
	}
	maps.DeleteFunc(labels, func(_, value string) bool { return value == "" })
	return labels
}
