package intake

import (
	"context"
	"fmt"
	"time"

	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store/txn"
)

// Store is what an Intake needs of a store.
type Store interface {
	Inbox() inbox.Store
	Backlog() backlog.Tables
	Letters() dlq.Store
}

// Intake takes messages in. It is safe for concurrent use.
type Intake struct {
	Store Store
	// Alerts are appended to beside each letter; nil means none.
	Alerts alerts.Appender
	// DeadTopic names the topic for the copy of a dead letter; "" means no copy.
	DeadTopic func(topic string) string
	// Host and Build say in dead letters who wrote them.
	Host, Build string
	// LockTimeout bounds the wait for keys that others hold, where there is more than
	// one message; IdleTimeout ends the transaction on the server when it idles for
	// longer. For both, 0 leaves the server's setting.
	LockTimeout, IdleTimeout time.Duration
	// Wrote is told of each letter that stands in the transaction, by the index of its
	// message; nil tells nobody.
	Wrote func(message int, class dlq.Class)
}

// Message is what is taken in.
type Message struct {
	// Item is the row to be: for whom, the delivery with its key and fingerprint, and
	// whether its order is strict. Take sets Blocked.
	Item backlog.Item
	// Bad is why no handler can be given it, or nil.
	Bad error
}

func (m *Message) id() inbox.ID {
	return inbox.ID{Scope: m.Item.Delivery.Scope, Key: m.Item.Delivery.Key}
}

func (m *Message) order() backlog.OrderKey {
	if !m.Item.Strict || m.Bad != nil {
		return backlog.OrderKey{}
	}
	return backlog.OrderKey{Scope: m.Item.Delivery.Scope, Key: m.Item.Delivery.OrderKey}
}

// Outcome says what became of a message.
type Outcome int

// The outcomes.
const (
	// Taken: the backlog has it.
	Taken Outcome = iota
	// Duplicate: it was known before.
	Duplicate
	// Conflict: a dead letter of its own, because its key belongs to another message.
	Conflict
	// Dead: a dead letter, because no handler can be given it.
	Dead
	// Busy: another transaction works on it. Nothing else was done.
	Busy
)

// Taking is what Take did.
type Taking struct {
	// Outcomes stand at the index of their message.
	Outcomes []Outcome
	// Busy says that one of them is Busy: roll back, and try again without those.
	Busy bool
	// Copies are the outbox rows of dead letters, for the commit.
	Copies []outbox.Row
}

// Take takes messages in, in this order, in t. It blocks while others hold their order
// keys.
func (k *Intake) Take(ctx context.Context, t *txn.Txn, messages []Message) (Taking, error) {
	taking := Taking{Outcomes: make([]Outcome, len(messages))}
	if len(messages) == 0 {
		return taking, nil
	}
	keys := make([]backlog.OrderKey, len(messages))
	for i := range messages {
		keys[i] = messages[i].order()
	}
	waiting, err := Waiting(ctx, t, k.Store.Backlog().Order, keys)
	if err != nil {
		return taking, err
	}
	before, err := k.claim(ctx, t, messages, &taking)
	if err != nil || taking.Busy {
		return taking, err
	}
	if err := k.settle(ctx, t, messages, &taking); err != nil {
		return taking, err
	}
	if err := k.put(ctx, t, messages, waiting, taking.Outcomes); err != nil {
		return taking, err
	}
	return taking, k.bury(ctx, t, messages, before, &taking)
}

// claim claims the messages, and sets the outcomes. It returns for each Conflict the
// fingerprint that was first.
func (k *Intake) claim(ctx context.Context, t *txn.Txn, messages []Message, taking *Taking) (map[int]string, error) {
	request := inbox.ClaimRequest{LockTimeout: k.LockTimeout, IdleTimeout: k.IdleTimeout}
	at := make(map[inbox.ID]int, len(messages)) // of its claim
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
	claimed, err := k.Store.Inbox().Claim(ctx, t, request)
	if err != nil {
		return nil, fmt.Errorf("claim: %w", err)
	}
	before := make(map[int]string)
	for i := range messages {
		m := &messages[i]
		n := at[m.id()]
		switch c := &claimed[n]; {
		case c.Result == inbox.Busy:
			taking.Outcomes[i], taking.Busy = Busy, true
		case c.Result == inbox.Lost && c.Entry.Fingerprint == m.Item.Delivery.Fingerprint:
			taking.Outcomes[i] = Duplicate
		case c.Result == inbox.Lost:
			taking.Outcomes[i], before[i] = Conflict, c.Entry.Fingerprint
		default: // the next one with this key comes after this one
			*c = inbox.Claimed{Result: inbox.Lost, Entry: inbox.Entry{Fingerprint: m.Item.Delivery.Fingerprint}}
			if m.Bad != nil {
				taking.Outcomes[i] = Dead
			}
		}
	}
	return before, nil
}

// settle moves the rows of what was won to the state that they are to be in. They were
// inserted as done in this transaction, so nobody has seen that.
func (k *Intake) settle(ctx context.Context, t *txn.Txn, messages []Message, taking *Taking) error {
	for outcome, state := range map[Outcome]inbox.State{Taken: inbox.Waiting, Dead: inbox.Dead} {
		var ids []inbox.ID
		for i := range messages {
			if taking.Outcomes[i] == outcome {
				ids = append(ids, messages[i].id())
			}
		}
		if len(ids) == 0 {
			continue
		}
		if _, err := k.Store.Inbox().Transition(ctx, t, ids, inbox.Done, state); err != nil {
			return fmt.Errorf("done to %s: %w", state, err)
		}
	}
	return nil
}

// put writes the backlog's rows.
func (k *Intake) put(ctx context.Context, t *txn.Txn, messages []Message, waiting map[backlog.OrderKey]bool, outcomes []Outcome) error {
	var items []backlog.Item
	for i := range messages {
		if outcomes[i] != Taken {
			continue
		}
		item, key := messages[i].Item, messages[i].order()
		if key.Key != "" {
			item.Blocked, waiting[key] = waiting[key], true
		}
		items = append(items, item)
	}
	if len(items) == 0 {
		return nil
	}
	if err := k.Store.Backlog().Put(ctx, t, items); err != nil {
		return fmt.Errorf("take in: %w", err)
	}
	return nil
}

// bury writes the letters.
func (k *Intake) bury(ctx context.Context, t *txn.Txn, messages []Message, before map[int]string, taking *Taking) error {
	for i := range messages {
		m, class, reason := &messages[i], dlq.Undecodable, messages[i].Bad
		switch taking.Outcomes[i] {
		case Taken, Duplicate, Busy:
			continue
		case Conflict:
			class, reason = dlq.Conflict, inbox.ErrConflict
			if m.Bad != nil {
				reason = fmt.Errorf("%w; and: %w", inbox.ErrConflict, m.Bad)
			}
		}
		f := dlq.Describe(reason, nil)
		copies, err := dlq.Bury(ctx, t, noting{k.Store.Letters(), k, i}, k.Alerts, dlq.Letter{
			Class: class, Consumer: m.Item.Consumer, Handler: m.Item.Handler, Delivery: m.Item.Delivery, Strict: m.Item.Strict,
			Error: f.Error, Chain: f.Chain, ErrorPrint: f.Print, Host: k.Host, Build: k.Build, FirstPrint: before[i],
		}, k.DeadTopic(m.Item.Delivery.Topic))
		if err != nil {
			return err
		}
		taking.Copies = append(taking.Copies, copies...)
	}
	return nil
}
