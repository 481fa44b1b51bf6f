package outcome

import (
	"context"
	"fmt"
	"time"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/task"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store/txn"
)

// Message is a message to take in.
type Message struct {
	// Item is the row of the backlog: consumer and handler, the delivery with its key and
	// fingerprint, and whether its order is strict.
	Item backlog.Item
	// Bad says why no handler can take it; nil if one can.
	Bad error
}

// Messages are the messages of tasks.
func Messages(tasks []*task.Task) []Message {
	messages := make([]Message, len(tasks))
	for i, one := range tasks {
		messages[i] = Message{Bad: one.Bad, Item: Item(one)}
	}
	return messages
}

func (m *Message) id() inbox.ID {
	return inbox.ID{Scope: m.Item.Delivery.Scope, Key: m.Item.Delivery.Key}
}

// Taking is the result of an intake for one message.
type Taking int

// The results of an intake for a message.
const (
	// Taken: the backlog has it.
	Taken Taking = iota
	// Known: it was taken earlier.
	Known
	// Conflict: it is a dead letter, because its key belongs to another message.
	Conflict
	// Dead: it is a dead letter, because no handler can take it.
	Dead
	// Busy: another transaction works on it. The intake did nothing else that counts:
	// roll back, and try again without it.
	Busy
)

// Intake is the result of Recorder.Intake.
type Intake struct {
	// Messages has the result of each message, at its index; Letters its new letter, nil for
	// none; and Entries the existing row, if it was Known or a Conflict.
	Messages []Taking
	Letters  []*dlq.Letter
	Entries  []inbox.Entry
	// Busy says that one of them is Busy.
	Busy bool
	// Counted says that deliveries of known messages were counted: see dlq.Letter.
	Counted bool
	// Copies are the outbox rows of dead letters, for the commit.
	Copies []outbox.Row
}

// Outcome sets the letter of t, the message with index i, which is not Busy, and returns
// its outcome.
func (in *Intake) Outcome(i int, t *task.Task) task.Outcome {
	t.Letter = in.Letters[i]
	switch in.Messages[i] {
	case Taken:
		return task.Waiting
	case Known:
		return t.OutcomeOf(in.Entries[i])
	case Conflict:
		return task.Conflict
	}
	return task.Dead
}

// Limits are the bounds of an intake's transaction: how long it waits for keys that
// others hold, if there is more than one message, and the server's limits.
type Limits struct {
	Lock time.Duration
	txn.Limits
}

// Intake puts messages into the backlog, in this order, in t.
func (r *Recorder) Intake(ctx context.Context, t *txn.Txn, messages []Message, limits Limits) (Intake, error) {
	in := Intake{Messages: make([]Taking, len(messages)), Letters: make([]*dlq.Letter, len(messages)), Entries: make([]inbox.Entry, len(messages))}
	if len(messages) == 0 {
		return in, nil
	}
	if err := r.claim(ctx, t, messages, limits, &in); err != nil || in.Busy {
		return in, err
	}
	var items []backlog.Item
	var dead []inbox.ID
	for i, m := range messages {
		switch in.Messages[i] {
		case Taken:
			items = append(items, m.Item)
		case Dead:
			dead = append(dead, m.id())
		}
	}
	if len(items) > 0 {
		if err := r.Store.Backlog().Put(ctx, t, items); err != nil {
			return in, fmt.Errorf("take in: %w", err)
		}
	}
	if len(dead) > 0 {
		if _, err := r.Store.Inbox().Transition(ctx, t, dead, inbox.Waiting, inbox.Dead); err != nil {
			return in, fmt.Errorf("waiting to dead: %w", err)
		}
	}
	if err := r.refuse(ctx, t, messages, &in); err != nil {
		return in, err
	}
	var known []inbox.ID
	for i := range messages {
		if in.Messages[i] == Known {
			known = append(known, messages[i].id())
		}
	}
	var err error
	in.Counted, err = r.CountDeliveries(ctx, t, known)
	return in, err
}

// claim claims the messages, and sets their results.
func (r *Recorder) claim(ctx context.Context, t *txn.Txn, messages []Message, limits Limits, in *Intake) error {
	request := inbox.ClaimRequest{LockTimeout: limits.Lock, Limits: limits.Limits, Waiting: true}
	at := make(map[inbox.ID]int, len(messages)) // index of its claim
	for i := range messages {
		id := messages[i].id()
		if _, twice := at[id]; !twice {
			at[id] = len(request.Claims)
			request.Claims = append(request.Claims, inbox.Claim{ID: id, Fingerprint: messages[i].Item.Delivery.Fingerprint})
		}
	}
	if len(request.Claims) < 2 {
		request.LockTimeout = 0
	}
	claimed, err := r.Store.Inbox().Claim(ctx, t, request)
	if err != nil {
		return fmt.Errorf("claim: %w", err)
	}
	for i := range messages {
		m, c := &messages[i], &claimed[at[messages[i].id()]]
		in.Entries[i] = c.Entry
		switch {
		case c.Result == inbox.Busy:
			in.Messages[i], in.Busy = Busy, true
		case c.Result == inbox.Lost && c.Entry.Fingerprint == m.Item.Delivery.Fingerprint:
			in.Messages[i] = Known
		case c.Result == inbox.Lost:
			in.Messages[i] = Conflict
		default: // a later message with this key loses against this one
			*c = inbox.Claimed{Result: inbox.Lost, Entry: inbox.Entry{ID: m.id(), State: inbox.Waiting, Fingerprint: m.Item.Delivery.Fingerprint}}
			if m.Bad != nil {
				in.Messages[i] = Dead
			}
		}
	}
	return nil
}

// refuse writes the letters of messages that no handler gets.
func (r *Recorder) refuse(ctx context.Context, t *txn.Txn, messages []Message, in *Intake) error {
	var letters []dlq.Letter
	var of []int
	for i := range messages {
		m := &messages[i]
		switch in.Messages[i] {
		case Dead:
			letters = append(letters, r.letter(m.Item, refusal(m.Bad), dlq.Describe(m.Bad, nil, r.Redact)))
		case Conflict:
			letters = append(letters, r.conflict(m.Item, m.Bad, in.Entries[i].Fingerprint))
		default:
			continue
		}
		of = append(of, i)
	}
	copies, written, err := dlq.Write(ctx, t, r.Store.Letters(), letters, r.DeadTopic)
	for n, w := range written {
		if w.Written {
			letters[n].LetterID = w.LetterID
			in.Letters[of[n]] = &letters[n]
		}
	}
	in.Copies = copies
	return err
}
