package sqlite

import (
	"errors"
	"strings"
	"testing"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store/txn"
)

// TestIdentityIsNeverChanged: names that a JSON argument would change are refused,
// since two of them would become one (bad input 19 to 24). Their bytes, which may be
// anything, are not shown.
func TestIdentityIsNeverChanged(t *testing.T) {
	s, _ := setup(t)
	ctx := t.Context()
	for _, bad := range []string{"secret\xff", "secret\x00", strings.Repeat("secret", 200)} {
		id := inbox.ID{Scope: "c/h", Key: bad}
		delivery := headrace.Delivery{Scope: "c/h", Key: bad}
		ordered := headrace.Delivery{Scope: "c/h", Key: "good", OrderKey: bad}
		for name, f := range map[string]func(*txn.Txn) error{
			"Claim": func(t *txn.Txn) error {
				_, err := s.Inbox().Claim(ctx, t, inbox.ClaimRequest{Claims: []inbox.Claim{{ID: id}}})
				return err
			},
			"Transition": func(t *txn.Txn) error {
				_, err := s.Inbox().Transition(ctx, t, []inbox.ID{id}, inbox.Waiting, inbox.Done)
				return err
			},
			"MarkStale": func(t *txn.Txn) error { return s.Inbox().MarkStale(ctx, t, []inbox.ID{id}) },
			"AddAttempts": func(t *txn.Txn) error {
				_, err := s.Inbox().AddAttempts(ctx, t, []inbox.Attempt{{ID: id}})
				return err
			},
			"Put":       func(t *txn.Txn) error { return s.Backlog().Put(ctx, t, []backlog.Item{{Delivery: delivery}}) },
			"Put order": func(t *txn.Txn) error { return s.Backlog().Put(ctx, t, []backlog.Item{{Delivery: ordered}}) },
			"Release": func(t *txn.Txn) error {
				return s.Backlog().Order.Release(ctx, t, []backlog.OrderKey{{Scope: "c/h", Key: bad}}, 1)
			},
			"Insert letter": func(t *txn.Txn) error {
				_, err := s.Letters().Insert(ctx, t, []dlq.Letter{{Class: dlq.Permanent, Delivery: delivery}})
				return err
			},
			"Insert event": func(t *txn.Txn) error {
				err := s.Outbox().Insert(ctx, t, []outbox.Row{outbox.RowOf(headrace.Event{ID: "e", Topic: "t", OrderKey: bad, Payload: []byte("p")})})
				if !errors.Is(err, headrace.ErrInvalidEvent) {
					return nil
				}
				return err
			},
		} {
			tx := begin(t, s)
			switch err := f(tx); {
			case err == nil:
				t.Errorf("%s took a name of %d bytes", name, len(bad))
			case strings.Contains(err.Error(), "secret"):
				t.Errorf("%s shows the name: %v", name, err)
			}
			tx.Rollback()
		}
	}
}
