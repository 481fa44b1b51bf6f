package resolve_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/ledger/resolve"
	"github.com/headrace/headrace/store/txn"
)

// end has the message end in state, as a redrive or a discard does.
func (b *bed) end(t *txn.Txn, state inbox.State) error {
	letter, action := dlq.Redriven, "redrive"
	if state == inbox.Discarded {
		letter, action = dlq.Discarded, "discard"
	}
	taken, err := b.Store.Letters().Take(b.Context(), t, dlq.Filter{Key: b.id.Key}, letter, 0, 1)
	if err == nil {
		_, err = b.Store.Inbox().Transition(b.Context(), t, []inbox.ID{b.id}, inbox.Dead, state)
	}
	if err != nil {
		return err
	}
	return b.Store.Letters().Record(b.Context(), t, []dlq.Audit{{LetterID: taken[0].LetterID, Action: action, By: "bob", Reason: "a test"}})
}

// A message that has ended never runs again: another call of its step is refused, forced or
// not. What a person did by hand is recorded.
func TestNoOtherCallOfAMessageThatEnded(t *testing.T) {
	for _, message := range []inbox.State{inbox.Done, inbox.Discarded} {
		for _, step := range []ledger.State{ledger.Skipped, ledger.Done} {
			t.Run(fmt.Sprintf("%s, step %s", message, step), func(t *testing.T) {
				onEachStore(t, step, []string{"payout"}, func(b *bed) {
					b.quiet()
					b.In(func(t *txn.Txn) error { return b.end(t, message) })
					for _, v := range []resolve.Decision{resolve.Again, resolve.Anew} {
						r := b.of(v)
						r.Force = true
						if _, err := b.admin.Resolve(b.Context(), r); !errors.Is(err, resolve.ErrRefused) || !strings.Contains(err.Error(), "--done") {
							b.Errorf("%s: %v", v, err)
						}
					}
					if row := b.signal(); row.State != step || row.By != "" {
						b.Errorf("refused, and changed: %+v", row)
					}
					r := b.of(resolve.Done)
					r.ExternalID, r.Force = "po_7", true
					if o, err := b.admin.Resolve(b.Context(), r); err != nil || o.Message != message || o.Redriven || b.signal().ExternalID != "po_7" {
						b.Errorf("%+v, %v", o, err)
					}
				})
			})
		}
	}
}

// A resolution waits for the transaction that ends the message, and sees its end.
func TestNoOtherCallWhileTheMessageEnds(t *testing.T) {
	onEachStore(t, ledger.Skipped, []string{"payout"}, func(b *bed) {
		if b.SQLite {
			return // it has one writer at a time
		}
		b.quiet()
		refused := make(chan error, 1)
		b.In(func(t *txn.Txn) error {
			var pid int
			if err := t.QueryRowContext(b.Context(), "SELECT pg_backend_pid()").Scan(&pid); err != nil {
				return err
			}
			if err := b.end(t, inbox.Done); err != nil {
				return err
			}
			go func() {
				_, err := b.admin.Resolve(b.Context(), b.of(resolve.Again))
				refused <- err
			}()
			b.Eventually("the resolution waits", func() bool {
				return b.Count("SELECT count(*) FROM pg_stat_activity WHERE $1 = ANY (pg_blocking_pids(pid))", pid) > 0
			})
			return nil
		})
		if err := <-refused; !errors.Is(err, resolve.ErrRefused) {
			b.Errorf("%v", err)
		}
	})
}
