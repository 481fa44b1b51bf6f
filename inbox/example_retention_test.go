package inbox_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store/sqlite"
)

// What a consumer computes from Config.Retention when it starts: a broker that keeps
// messages for a week, and the retries of the slowest handler.
func ExampleRetention_Plan() {
	retries := retry.Policy{MaxAttempts: 8, Backoff: retry.Backoff{Initial: time.Minute, Max: time.Hour, Factor: 2}}.Span(30 * time.Second)
	week := 7 * 24 * time.Hour

	plan, err := inbox.Retention{SourceRetention: week}.Plan(retries)
	fmt.Println(plan.Window, err)

	_, err = inbox.Retention{SourceRetention: week, Window: week}.Plan(retries)
	fmt.Println(err)
	// Output:
	// 371h55m42s <nil>
	// retention is too short: Window is 7 days and must exceed 14 days 2 h 7 min (7 days of the source + 2 h 7 min of retries + 7 days of closed letters); leave it 0 to have it computed
}

// Which of the orders that the shop knows have never arrived?
func ExampleMissing() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "headrace")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	st, err := sqlite.Open(ctx, filepath.Join(dir, "orders.db"), sqlite.Options{Migrate: true})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = st.Close() }()
	t, err := st.Begin(ctx) // what a consumer does
	if err != nil {
		log.Fatal(err)
	}
	arrived := inbox.Claim{ID: inbox.ID{Scope: "billing/orders.paid", Key: "10492"}, Fingerprint: "f"}
	if _, err := st.Inbox().Claim(ctx, t, inbox.ClaimRequest{Claims: []inbox.Claim{arrived}}); err != nil {
		log.Fatal(err)
	}
	if err := st.Commit(ctx, t, nil); err != nil {
		log.Fatal(err)
	}

	orders := slices.Values([]string{"10491", "10492", "10493"}) // from the shop's own list
	missing, err := inbox.Missing(ctx, st.Operations().Finder, "billing/orders.paid", orders)
	fmt.Println(missing, err)
	// Output: [10491 10493] <nil>
}
