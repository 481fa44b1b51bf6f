package export

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/ledger"
)

// Version is that of the format.
const Version = 1

// MaxLine is the longest line of a file in bytes. Export fails for a letter that needs more.
const MaxLine = 256 << 20

// ErrFile matches the error of a file that cannot be imported.
var ErrFile = errors.New("this file cannot be imported")

// Header is the first line of a file: where its letters come from.
type Header struct {
	// Database is the id of the database's headrace, and Schema how many migrations it has.
	Database string `json:"database"`
	Schema   int    `json:"schema"`
	// Environment is that of the consumer's newest process; "" if it has none.
	Environment string `json:"environment,omitempty"`
	// Consumer is the one that all letters are of.
	Consumer string `json:"consumer"`
	// At is when the export began, by the clock of the exporting process, and By who made it.
	At time.Time `json:"at"`
	By string    `json:"by"`
	// Redacted says that payloads and headers are not as they came.
	Redacted bool `json:"redacted"`
}

// End is the last line of a file.
type End struct {
	// Count is the number of letters, and SHA256 the sum of all bytes before this line, in hex.
	Count  int    `json:"count"`
	SHA256 string `json:"sha256"`
}

// Letter is a letter of a file, with what is recorded about it.
type Letter struct {
	dlq.Letter
	// Runs are the attempts, Edits those that people made, without their content, and Decisions
	// the audit rows; all oldest first.
	Runs      []inbox.Attempt
	Edits     []dlq.Edit
	Decisions []dlq.Audit
	// Steps are those of the message; none of a conflict, nor Runs.
	Steps []Step
}

// Step is a step of a letter's message.
type Step struct {
	// Step is its name, System what it calls, "" for a signal, and State what is known of it.
	Step   string       `json:"step"`
	System string       `json:"system,omitempty"`
	State  ledger.State `json:"state"`
}

// called reports whether a redrive could call a step that was called before.
func (s Step) called() bool { return ledger.Row{System: s.System, State: s.State}.MayHaveCalled() }

// line is a line of a file.
type line struct {
	V      int         `json:"v"`
	Export *Header     `json:"export,omitempty"`
	Letter *letterLine `json:"dead_letter,omitempty"`
	End    *End        `json:"end,omitempty"`
}

// body is the content of a message.
type body struct {
	Payload *string         `json:"payload,omitempty"`
	Base64  *[]byte         `json:"payload_base64,omitempty"`
	Headers json.RawMessage `json:"headers"`
}

type letterLine struct {
	ID               int64                `json:"id"`
	State            dlq.State            `json:"state"`
	Class            dlq.Class            `json:"class"`
	Consumer         string               `json:"consumer"`
	Handler          string               `json:"handler"`
	Scope            string               `json:"scope"`
	Key              string               `json:"key"`
	OrderKey         string               `json:"order_key,omitempty"`
	Strict           bool                 `json:"strict,omitempty"`
	Fingerprint      string               `json:"fingerprint"`
	FirstFingerprint string               `json:"first_fingerprint,omitempty"`
	MessageID        string               `json:"message_id,omitempty"`
	Topic            string               `json:"topic"`
	ReplyTopic       string               `json:"reply_topic,omitempty"`
	Coordinates      headrace.Coordinates `json:"coordinates,omitzero"`
	Time             time.Time            `json:"time,omitzero"`
	TraceParent      string               `json:"traceparent,omitempty"`
	TraceState       string               `json:"tracestate,omitempty"`
	body
	Error       string      `json:"error"`
	Group       string      `json:"error_fingerprint"`
	Chain       []string    `json:"chain,omitempty"`
	Stack       string      `json:"stack,omitempty"`
	Attempts    int         `json:"attempts"`
	First       time.Time   `json:"first_failure,omitzero"`
	Last        time.Time   `json:"last_failure,omitzero"`
	CreatedAt   time.Time   `json:"created_at"`
	ChangedAt   time.Time   `json:"changed_at"`
	PreviousID  int64       `json:"previous_id,omitempty"`
	Redrives    int         `json:"redrives,omitempty"`
	Deliveries  int         `json:"deliveries,omitempty"`
	Host        string      `json:"host,omitempty"`
	Build       string      `json:"build,omitempty"`
	Environment string      `json:"environment,omitempty"`
	Runs        []runLine   `json:"runs,omitempty"`
	Edits       []editLine  `json:"edits,omitempty"`
	Edited      *body       `json:"edited,omitempty"`
	Decisions   []dlq.Audit `json:"decisions,omitempty"`
	Steps       []Step      `json:"steps,omitempty"`
}

type runLine struct {
	N           int           `json:"n"`
	Class       string        `json:"class"`
	ErrorType   string        `json:"error_type"`
	Error       string        `json:"error"`
	Duration    time.Duration `json:"duration_ns"`
	Host        string        `json:"host"`
	Build       string        `json:"build"`
	TraceParent string        `json:"traceparent,omitempty"`
	TraceState  string        `json:"tracestate,omitempty"`
	At          time.Time     `json:"at"`
}

type editLine struct {
	Rev    int       `json:"rev"`
	By     string    `json:"by"`
	DBUser string    `json:"db_user,omitempty"`
	Reason string    `json:"reason"`
	At     time.Time `json:"at"`
}

func bodyOf(payload []byte, headers map[string]string) body {
	b := body{Headers: encode.Metadata(headers)}
	switch text := string(payload); {
	case payload == nil:
	case utf8.Valid(payload):
		b.Payload = &text
	default:
		b.Base64 = &payload
	}
	return b
}

// content returns the content that b holds.
func (b body) content() (c dlq.Content, err error) {
	switch {
	case b.Payload != nil && b.Base64 != nil:
		return c, errors.New("it has two payloads")
	case b.Payload != nil:
		c.Payload = []byte(*b.Payload)
	case b.Base64 != nil:
		c.Payload = append([]byte{}, *b.Base64...)
	}
	c.Metadata, err = encode.ParseMetadata(b.Headers)
	return c, err
}

func lineOf(l *Letter) *letterLine {
	d := l.Delivery
	line := &letterLine{
		ID: l.LetterID, State: l.State, Class: l.Class, Consumer: l.Consumer, Handler: l.Handler, Scope: d.Scope, Key: d.Key,
		OrderKey: d.OrderKey, Strict: l.Strict, Fingerprint: d.Fingerprint, FirstFingerprint: l.FirstFingerprint,
		MessageID: d.ID, Topic: d.Topic, ReplyTopic: d.ReplyTopic, Coordinates: d.Coordinates, Time: d.Time.UTC(),
		TraceParent: d.Trace.Parent, TraceState: d.Trace.State, body: bodyOf(d.Payload, d.Metadata),
		Error: l.Error, Group: l.ErrorFingerprint, Chain: l.Chain, Stack: l.Stack, Attempts: l.Attempts,
		First: l.FirstFailure, Last: l.LastFailure, CreatedAt: l.CreatedAt, ChangedAt: l.ChangedAt,
		PreviousID: l.PreviousID, Redrives: l.Redrives, Deliveries: l.Deliveries, Host: l.Host, Build: l.Build, Environment: l.Environment,
		Decisions: l.Decisions, Steps: l.Steps,
	}
	for _, a := range l.Runs {
		line.Runs = append(line.Runs, runLine{a.N, a.Class, a.ErrorType, a.Error, a.Duration, a.Host, a.Build, a.Trace.Parent, a.Trace.State, a.At})
	}
	for _, e := range l.Edits {
		line.Edits = append(line.Edits, editLine{e.Rev, e.By, e.DBUser, e.Reason, e.At})
	}
	if l.Rev > 0 {
		edited := bodyOf(l.Edit.Payload, l.Edit.Metadata)
		line.Edited = &edited
	}
	return line
}

// letter returns the letter of a line, or an error if no store could hold it.
func (line *letterLine) letter() (*Letter, error) {
	if err := line.check(); err != nil {
		return nil, err
	}
	came, err := line.content()
	if err != nil {
		return nil, err
	}
	l := &Letter{
		Letter: dlq.Letter{
			LetterID: line.ID, State: line.State, Class: line.Class, Consumer: line.Consumer, Handler: line.Handler, Strict: line.Strict,
			Delivery: headrace.Delivery{
				Scope: line.Scope, Key: line.Key, Fingerprint: line.Fingerprint, OrderKey: line.OrderKey, ID: line.MessageID,
				Topic: line.Topic, ReplyTopic: line.ReplyTopic, Payload: came.Payload, Metadata: came.Metadata, Coordinates: line.Coordinates,
				Time: line.Time, Trace: headrace.TraceContext{Parent: line.TraceParent, State: line.TraceState},
			},
			Error: line.Error, Chain: line.Chain, Stack: line.Stack, ErrorFingerprint: line.Group, FirstFingerprint: line.FirstFingerprint,
			Attempts: line.Attempts, FirstFailure: line.First, LastFailure: line.Last, CreatedAt: line.CreatedAt, ChangedAt: line.ChangedAt,
			PreviousID: line.PreviousID, Redrives: line.Redrives, Deliveries: line.Deliveries, Rev: len(line.Edits),
			Host: line.Host, Build: line.Build, Environment: line.Environment,
		},
		Decisions: line.Decisions, Steps: line.Steps,
	}
	for _, r := range line.Runs {
		l.Runs = append(l.Runs, inbox.Attempt{
			ID: l.ID(), N: r.N, Class: r.Class, ErrorType: r.ErrorType, Error: r.Error, Duration: r.Duration,
			Host: r.Host, Build: r.Build, Trace: headrace.TraceContext{Parent: r.TraceParent, State: r.TraceState}, At: r.At,
		})
	}
	for _, e := range line.Edits {
		l.Edits = append(l.Edits, dlq.Edit{LetterID: line.ID, Rev: e.Rev, By: e.By, DBUser: e.DBUser, Reason: e.Reason, At: e.At})
	}
	if line.Edited != nil {
		l.Edit, err = line.Edited.content()
	}
	return l, err
}

// group is an error fingerprint. A letter without an error has none.
var group = regexp.MustCompile(`^([0-9a-f]{16})?$`)

// check refuses what names no message, or what no rule of the tables allows.
func (line *letterLine) check() error {
	for _, name := range []struct {
		what, is string
		most     int
	}{
		{"the key", line.Key, inbox.MaxKeyBytes},
		{"the scope", line.Scope, inbox.MaxFingerprintBytes},
		{"the handler", line.Handler, inbox.MaxFingerprintBytes},
		{"the fingerprint", line.Fingerprint, inbox.MaxFingerprintBytes},
		{"the order key", line.OrderKey, inbox.MaxFingerprintBytes},
		{"the first fingerprint", line.FirstFingerprint, inbox.MaxFingerprintBytes},
		{"the error fingerprint", line.Group, inbox.MaxFingerprintBytes},
	} {
		if !encode.Clean(name.is) || len(name.is) > name.most {
			return fmt.Errorf("%s holds a NUL byte, or is longer than %d bytes", name.what, name.most)
		}
	}
	switch {
	case strings.TrimSpace(line.Key) == "":
		return errors.New("it has no key")
	case !strings.HasPrefix(line.Scope, line.Consumer+"/"):
		return fmt.Errorf("its scope is none of consumer %q", encode.Short(line.Consumer, 80))
	case !slices.Contains(dlq.Classes(), line.Class):
		return fmt.Errorf("its class %q is unknown", encode.Short(string(line.Class), 80))
	case !slices.Contains([]dlq.State{dlq.Open, dlq.Redriven, dlq.Discarded}, line.State):
		return fmt.Errorf("its state %q is unknown", encode.Short(string(line.State), 80))
	case !group.MatchString(line.Group):
		return fmt.Errorf("its error fingerprint %q is not 16 hexadecimal digits", encode.Short(line.Group, 80))
	case line.ID <= 0 || min(line.Attempts, line.Redrives) < 0 || max(line.Attempts, line.Redrives) > math.MaxInt32:
		return errors.New("a number is out of range")
	case (line.Edited == nil) != (len(line.Edits) == 0):
		return errors.New("its edits have no content, or a content has no edit")
	}
	for i, r := range line.Runs {
		if r.N != i+1 || r.At.Year() < 1970 || r.At.Year() > 9999 {
			return errors.New("its runs have gaps, or no time")
		}
	}
	return nil
}
