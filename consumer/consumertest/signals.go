package consumertest

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/ledger/resolve"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/txn"
)

// Awaits asserts, after Settle, that the message waits for the signal, with its item if it
// has one.
func (s *Steps) Awaits(signal string) {
	s.k.t.Helper()
	if r, ok := s.row(signal); ok && r.State != ledger.Awaiting {
		s.k.t.Errorf("Awaits: signal %s is %s: %s", signal, r.State, s.m)
	}
}

// Send sends the signal, with its item if it has one, as ledger.Signal.Send does, and the
// message goes on. value is encoded as JSON.
func (s *Steps) Send(signal string, value any) {
	s.k.t.Helper()
	b, err := json.Marshal(value)
	if err != nil {
		s.k.t.Fatalf("Send: %v", err)
	}
	ids := s.k.known(s.m)
	if len(ids) != 1 {
		s.k.t.Fatalf("Send: %d messages have the key of %s, and one is needed", len(ids), s.m)
	}
	ctx, cancel := context.WithTimeout(context.Background(), statementTime)
	defer cancel()
	if err := resolve.New(s.k.place.kit).Send(ctx, ledger.Sent{ID: ids[0], Step: signal, Value: b, By: "consumertest"}); err != nil {
		s.k.t.Fatalf("Send: %v: %s", err, s.m)
	}
	s.k.story.add("sent signal %s: %s", signal, s.m)
	s.k.wakeAll()
}

// Expire has the time of a signal be over that the message waits for.
func (s *Steps) Expire(signal string) {
	s.k.t.Helper()
	r, ok := s.row(signal)
	if !ok {
		return
	}
	s.k.mu.Lock()
	s.k.expired[stepID{r.ID, signal}] = true
	s.k.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), statementTime)
	defer cancel()
	err := store.Transact(ctx, s.k.place.kit, func(t *txn.Txn) error {
		_, row, err := s.k.place.kit.Operations().Signals.Lock(ctx, t, r.ID)
		if err != nil || row == 0 {
			return err
		}
		return s.k.place.kit.Operations().Signals.Due(ctx, t, row)
	})
	if err != nil {
		s.k.t.Fatalf("Expire: %v: %s", err, s.m)
	}
	s.k.story.add("the time of signal %s is over: %s", signal, s.m)
	s.k.wakeAll()
}

// stepID names a step of a message.
type stepID struct {
	id   inbox.ID
	step string
}

// waits reports whether the message waits for a signal whose time is not over.
func (k *Kit) waits(ctx context.Context, id inbox.ID) bool {
	rows, err := k.place.kit.Operations().Steps.List(ctx, id)
	if err != nil {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.ContainsFunc(rows, func(r ledger.Row) bool { return r.State == ledger.Awaiting && !k.expired[stepID{id, r.Step}] })
}

// waiting counts the messages that wait for signals, and for nothing else.
func (k *Kit) waiting(ctx context.Context) (n int64, err error) {
	rows, err := k.place.kit.Operations().StepAdmin.Search(ctx, ledger.Filter{State: ledger.Awaiting}, 10_000)
	if err != nil {
		return 0, err
	}
	seen := make(map[inbox.ID]bool)
	for _, r := range rows {
		if seen[r.ID] {
			continue
		}
		seen[r.ID] = true
		entries, err := k.place.kit.Inbox().Find(ctx, r.ID.Key)
		if err != nil {
			return 0, err
		}
		if slices.ContainsFunc(entries, func(e inbox.Entry) bool {
			return e.ID == r.ID && e.Wait.Status == "delayed" && time.Until(e.Wait.Due) > soonest
		}) {
			n++
		}
	}
	return n, nil
}

// soonest is the shortest time of a signal that the kit lets pass by Expire only.
const soonest = 500 * time.Millisecond
