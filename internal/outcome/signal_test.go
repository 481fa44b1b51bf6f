package outcome_test

import (
	"errors"
	"testing"
	"time"

	"github.com/headrace/headrace/internal/outcome"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store/txn"
)

// A message that is put off because a signal is missing runs again at once if the signal
// was sent while its run ended.
//
//evidence:signal
func TestSignalThatArrived(t *testing.T) {
	onEachStore(t, func(f *fixture) {
		signals := f.Store.Operations().Signals
		h := handler("orders")
		for key, sent := range map[string]bool{"sent": true, "missing": false} {
			f.put(h, key, key)
			var failure *outcome.Failure
			f.record(func(t *txn.Txn) outcome.Batch {
				one := f.rows(t, h, key)[0]
				row := ledger.Row{ID: one.ID(), Step: "approval", Result: []byte("true")}
				if _, err := signals.Await(f.Context(), t, row, time.Hour); err != nil {
					f.Fatal(err)
				}
				if sent {
					if _, err := signals.Send(f.Context(), t, row); err != nil {
						f.Fatal(err)
					}
				}
				failure = &outcome.Failure{Task: one, Err: retry.Postpone(time.Hour, errors.New("a signal")), Awaits: []string{"approval"}}
				return outcome.Batch{Failed: []*outcome.Failure{failure}}
			})
			if want := map[bool]time.Duration{true: 0, false: time.Hour}[sent]; failure.Delay != want || !failure.Postponed {
				f.Errorf("%s: it waits for %s", key, failure.Delay)
			}
		}
	})
}
