package steps_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/retry"
)

// A connection that was kept breaks, and net/http sends the POST again by itself. The second one
// is answered with a 4xx, which says nothing of the first: the message is retried.
//
//evidence:ledger
func TestStatusAfterARepetitionOfGo(t *testing.T) {
	onEachStore(t, func(b *bed) {
		var posts atomic.Int64
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.Method == http.MethodGet:
			case posts.Add(1) == 1:
				panic(http.ErrAbortHandler)
			case posts.Load() == 2:
				w.WriteHeader(http.StatusBadRequest)
			}
		}))
		defer server.Close()
		warm, err := server.Client().Get(server.URL) // net/http repeats only on a connection that was used
		if err != nil {
			b.Fatal(err)
		}
		_ = warm.Body.Close()
		var keys []string
		do := func() error {
			r, ctx := b.begin(charge)
			defer r.End()
			_, err := charge.Do(ctx, func(ctx context.Context, c *ledger.Call) (invoice, error) {
				keys = append(keys, c.Key)
				request, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL, strings.NewReader("{}"))
				if err != nil {
					return invoice{}, err
				}
				request.Header.Set("Idempotency-Key", c.Key)
				answer, err := server.Client().Do(request)
				if answer != nil {
					_ = answer.Body.Close()
				}
				return invoice{"inv_1"}, ledger.HTTP(answer, err)
			})
			return err
		}
		if err := do(); err == nil || retry.IsPermanent(err) || !strings.Contains(err.Error(), "400") {
			b.Errorf("%v, permanent %t", err, retry.IsPermanent(err))
		}
		b.state("charge", ledger.Pending)
		if err := do(); err != nil || len(keys) != 2 || keys[0] != keys[1] || posts.Load() != 3 {
			b.Errorf("%v, keys %v, %d posts", err, keys, posts.Load())
		}
		b.state("charge", ledger.Done)
	})
}
