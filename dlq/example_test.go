package dlq_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/redrive"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/store/sqlite"
)

// A person finds three dead letters with one reason, and sends them again after the
// reason is gone.
func Example() {
	ctx := context.Background()
	dir, _ := os.MkdirTemp("", "dlq")
	defer os.RemoveAll(dir)
	st, err := sqlite.Open(ctx, filepath.Join(dir, "orders.db"), sqlite.Options{Migrate: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer st.Close()
	for _, order := range []string{"10492", "10493", "10501"} {
		// What the consumer does with a message after its last attempt.
		if err := deadLetter(ctx, st, order); err != nil {
			fmt.Println(err)
		}
	}

	admin := redrive.New(st)
	groups, err := admin.Groups(ctx, dlq.Filter{Consumer: "billing"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, g := range groups {
		fmt.Printf("%d letters of %s, %s: %s\n", g.Count, g.Handler, g.Class, g.Sample)
	}

	result, err := admin.Redrive(ctx, redrive.Request{
		Filter: dlq.Filter{ErrorFingerprint: groups[0].ErrorFingerprint},
		By:     "ann", Reason: "the bank answers again",
	})
	fmt.Println(result.Done, "redriven,", err)
	detail, err := admin.Show(ctx, groups[0].SampleID)
	fmt.Println("the letter is", detail.Letter.State, "and its message", detail.Inbox.State, err)
	// Output:
	// 3 letters of orders.paid, exhausted: charge order 10501: bank: timeout
	// 3 redriven, <nil>
	// the letter is redriven and its message waiting <nil>
}

func deadLetter(ctx context.Context, st *sqlite.Store, order string) error {
	failure := dlq.Describe(fmt.Errorf("charge order %s: %w", order, errors.New("bank: timeout")), nil, nil)
	l := dlq.Letter{
		Class: dlq.Exhausted, Consumer: "billing", Handler: "orders.paid",
		Delivery: headrace.Delivery{
			Scope: "billing/orders.paid", Key: "order:" + order, Fingerprint: "f", Topic: "orders.paid",
			Payload: []byte(`{"id":` + order + `}`), ReceivedAt: time.Now(),
		},
		Error: failure.Error, ErrorFingerprint: failure.Fingerprint, Chain: failure.Chain, Stack: failure.Stack,
	}
	t, err := st.Begin(ctx)
	if err != nil {
		return err
	}
	defer t.Rollback()
	if _, err := st.Inbox().Claim(ctx, t, inbox.ClaimRequest{Claims: []inbox.Claim{{ID: l.ID(), Fingerprint: "f"}}}); err != nil {
		return err
	}
	if _, err := st.Inbox().Transition(ctx, t, []inbox.ID{l.ID()}, inbox.Done, inbox.Dead); err != nil {
		return err
	}
	if _, err := st.Letters().Insert(ctx, t, []dlq.Letter{l}); err != nil {
		return err
	}
	return st.Commit(ctx, t, nil)
}
