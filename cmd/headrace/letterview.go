package main

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/redrive"
	"github.com/headrace/headrace/inbox"
)

// letterView is a letter as JSON, without its payload.
type letterView struct {
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
	Coordinates      headrace.Coordinates `json:"coordinates,omitzero"`
	TraceParent      string               `json:"traceparent,omitempty"`
	Error            string               `json:"error"`
	Group            string               `json:"error_fingerprint"`
	Attempts         int                  `json:"attempts"`
	FirstFailure     time.Time            `json:"first_failure,omitzero"`
	LastFailure      time.Time            `json:"last_failure,omitzero"`
	CreatedAt        time.Time            `json:"created_at"`
	ChangedAt        time.Time            `json:"changed_at"`
	PreviousID       int64                `json:"previous_id,omitempty"`
	Redrives         int                  `json:"redrives,omitempty"`
	Deliveries       int                  `json:"deliveries,omitempty"` // under a stand-in key
	Rev              int                  `json:"rev,omitempty"`        // how many edits it has
	Host             string               `json:"host,omitempty"`
	Build            string               `json:"build,omitempty"`
	Environment      string               `json:"environment,omitempty"`
}

func viewLetter(l dlq.Letter) letterView {
	d := l.Delivery
	return letterView{
		ID: l.LetterID, State: l.State, Class: l.Class, Consumer: l.Consumer, Handler: l.Handler,
		Scope: d.Scope, Key: d.Key, OrderKey: d.OrderKey, Strict: l.Strict,
		Fingerprint: d.Fingerprint, FirstFingerprint: l.FirstFingerprint, MessageID: d.ID, Topic: d.Topic,
		Coordinates: d.Coordinates, TraceParent: d.Trace.Parent, Error: l.Error, Group: l.ErrorFingerprint,
		Attempts: l.Attempts, FirstFailure: l.FirstFailure, LastFailure: l.LastFailure,
		CreatedAt: l.CreatedAt, ChangedAt: l.ChangedAt, PreviousID: l.PreviousID, Redrives: l.Redrives, Deliveries: l.Deliveries, Rev: l.Rev,
		Host: l.Host, Build: l.Build, Environment: l.Environment,
	}
}

// detailView is a letter with everything recorded about it.
type detailView struct {
	letterView
	NextID int64 `json:"next_id,omitempty"` // when it failed again after a redrive
	// Inbox is where its message is now.
	Inbox inbox.State   `json:"inbox"`
	Chain []string      `json:"chain"`
	Stack string        `json:"stack,omitempty"`
	Runs  []attemptView `json:"runs"`
	Trail []dlq.Audit   `json:"decisions"`
	Steps []stepView    `json:"steps,omitempty"`
	bodyView
	// Edits are the changes of what it says, oldest first, and Edited the newest content.
	Edits  []editItem `json:"edits,omitempty"`
	Edited *bodyView  `json:"edited,omitempty"`
}

// editItem is an edit of a letter.
type editItem struct {
	Rev    int       `json:"rev"`
	By     string    `json:"by"`
	DBUser string    `json:"db_user,omitempty"`
	Reason string    `json:"reason"`
	At     time.Time `json:"at"`
}

// viewEdits reads the edits of a letter.
func (v *detailView) viewEdits(ctx context.Context, st openStore, l *dlq.Letter, payload bool) error {
	if l.Rev == 0 {
		return nil
	}
	edits, err := st.Operations().Corrections.Edits(ctx, l.LetterID)
	for _, e := range edits {
		v.Edits = append(v.Edits, editItem{Rev: e.Rev, By: e.By, DBUser: e.DBUser, Reason: e.Reason, At: e.At})
	}
	if !v.Hidden {
		edited := viewBody(l.Message(), payload)
		v.Edited = &edited
	}
	return err
}

// bodyView is the content of a message.
type bodyView struct {
	HeaderNames  []string `json:"header_names"`
	PayloadBytes int      `json:"payload_bytes"`
	// Hidden says that this login may not read them.
	Hidden bool `json:"hidden,omitempty"`
	// Headers and Payload are set only if requested; Payload is in base64.
	Headers map[string]string `json:"headers,omitempty"`
	Payload *[]byte           `json:"payload,omitempty"`
}

func viewBody(d headrace.Delivery, payload bool) bodyView {
	v := bodyView{HeaderNames: slices.Sorted(maps.Keys(d.Metadata)), PayloadBytes: len(d.Payload)}
	if payload {
		v.Headers = d.Metadata
		body := d.Payload
		if body == nil {
			body = []byte{}
		}
		v.Payload = &body
	}
	return v
}

type attemptView struct {
	N         int           `json:"n"`
	Class     string        `json:"class"`
	ErrorType string        `json:"error_type"`
	Error     string        `json:"error"`
	Duration  time.Duration `json:"duration_ns"`
	Host      string        `json:"host"`
	Build     string        `json:"build"`
	At        time.Time     `json:"at"`
}

func viewDetail(ctx context.Context, st openStore, admin *redrive.Admin, id int64, payload bool) (v detailView, err error) {
	d, err := admin.Show(ctx, id)
	if err != nil {
		return v, err
	}
	if payload && d.Hidden != nil {
		return v, &roleError{"operator", d.Hidden}
	}
	v = detailView{
		letterView: viewLetter(d.Letter), NextID: d.NextID, Inbox: d.Inbox.State, Chain: d.Letter.Chain, Stack: d.Letter.Stack,
		Runs: []attemptView{}, Trail: d.Trail, bodyView: viewBody(d.Letter.Delivery, payload),
	}
	for _, a := range d.Attempts {
		v.Runs = append(v.Runs, viewAttempt(a))
	}
	if v.Trail == nil {
		v.Trail = []dlq.Audit{}
	}
	v.Hidden = d.Hidden != nil
	if err := v.viewEdits(ctx, st, &d.Letter, payload); err != nil {
		return v, err
	}
	if v.Hidden { // nor what other systems answered to steps
		return v, nil
	}
	v.Steps, err = stepsOf(ctx, st, d.Letter.ID())
	return v, err
}

func viewAttempt(a inbox.Attempt) attemptView {
	return attemptView{
		N: a.N, Class: a.Class, ErrorType: a.ErrorType, Error: a.Error,
		Duration: a.Duration, Host: a.Host, Build: a.Build, At: a.At,
	}
}
