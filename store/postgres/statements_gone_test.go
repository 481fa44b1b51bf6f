package postgres_test

import (
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store/postgres"
	"github.com/headrace/headrace/store/txn"
)

// A handler, or a pooler, may throw away what is prepared on a connection: then a claim
// and an outbox insert fail once, as what may be run again at once, and work after that.
func TestStatementsThatAreGone(t *testing.T) {
	for _, driver := range []string{"open", "pool"} {
		t.Run(driver, func(t *testing.T) { statementsGone(t, setup(t, driver, "", postgres.Options{})) })
	}
}

func statementsGone(t *testing.T, b *bundle) {
	b.DB().SetMaxOpenConns(1)
	r := inbox.ClaimRequest{LockTimeout: time.Second, Unguarded: true, Claims: []inbox.Claim{{ID: inbox.ID{Scope: "s", Key: "k"}, Fingerprint: "f"}}}
	row := outbox.RowOf(headrace.Event{ID: "e", Topic: "t", Payload: []byte("p")})
	apply := func(between string) (claim, commit error) {
		x := b.begin()
		defer x.Rollback()
		if _, claim = b.Inbox().Claim(t.Context(), x, r); claim != nil {
			return claim, nil
		}
		if between != "" {
			if _, err := x.ExecContext(t.Context(), between); err != nil {
				t.Fatal(err)
			}
		}
		return nil, b.Commit(t.Context(), x, []outbox.Row{row})
	}
	for range 3 { // a statement is prepared when it was seen twice
		if claim, commit := apply(""); claim != nil || commit != nil {
			t.Fatal(claim, commit)
		}
		b.exec("DELETE FROM headrace_inbox")
	}
	if _, err := b.DB().ExecContext(t.Context(), "DEALLOCATE ALL"); err != nil {
		t.Fatal(err)
	}
	if claim, _ := apply(""); txn.Classify(claim) != txn.Serialization {
		t.Errorf("claim: %v", claim)
	}
	if claim, commit := apply("DEALLOCATE ALL"); claim != nil || txn.Classify(commit) != txn.Serialization {
		t.Errorf("claim: %v; commit: %v", claim, commit)
	}
	claim, commit := apply("")
	if txn.Classify(claim) == txn.Serialization { // the claim's statement was gone as well
		claim, commit = apply("")
	}
	if claim != nil || commit != nil {
		t.Errorf("claim: %v; commit: %v", claim, commit)
	}
}
