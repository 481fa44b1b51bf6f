package postgres_test

import (
	"testing"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/ledger"
)

// The mark of a step and its result survive a crash of the server, where the database does
// not promise it for each commit. A stronger setting stays (LEDGER rule 8).
//
//evidence:ledger
func TestStepsAreDurable(t *testing.T) {
	drivers(t, func(b *bundle) {
		for setting, want := range map[string]string{"off": "on", "local": "on", "on": "on", "remote_apply": "remote_apply"} {
			x := b.begin()
			b.claim(x, inbox.ClaimRequest{}, setting)
			r := ledger.Row{ID: inbox.ID{Scope: scope, Key: setting}, Step: "pay", System: "bank", State: ledger.Pending, CallID: "1"}
			again, done := r, r
			again.CallID, done.CallID, done.Via = "2", "2", ledger.ViaCall
			steps := b.Operations().Steps
			for i, change := range []func() (bool, error){
				func() (bool, error) { return steps.Mark(b.Context(), x, r) },
				func() (bool, error) { return steps.Repeat(b.Context(), x, r, again) },
				func() (bool, error) { return steps.RecordDone(b.Context(), x, done) },
			} {
				_, err := x.ExecContext(b.Context(), "SET LOCAL synchronous_commit = "+setting)
				b.must("set", err)
				if changed, err := change(); err != nil || !changed {
					b.Fatalf("statement %d: %t, %v", i, changed, err)
				}
				var got string
				b.must("show", x.QueryRowContext(b.Context(), "SELECT current_setting('synchronous_commit')").Scan(&got))
				if got != want {
					b.Errorf("after statement %d synchronous_commit is %s, want %s where it was %s", i, got, want, setting)
				}
			}
			x.Rollback()
		}
	})
}
