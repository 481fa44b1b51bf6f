package postgres_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/store/postgres"
)

// Two processes that record an attempt of one message at once both get a
// number; neither fails for it.
func TestAttemptsOfOneMessageAtOnce(t *testing.T) {
	st := setup(t, "open", "", postgres.Options{})
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range 10 {
				tx, err := st.Begin(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				a := inbox.Attempt{ID: inbox.ID{Scope: "s", Key: "k"}, Class: "transient", Error: fmt.Sprint(i)}
				if _, err := st.Inbox().AddAttempts(t.Context(), tx, []inbox.Attempt{a}); err != nil {
					t.Error(err)
				}
				if err := st.Commit(t.Context(), tx, nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	list, err := st.Inbox().Attempts(t.Context(), inbox.ID{Scope: "s", Key: "k"})
	if err != nil || len(list) != 80 || list[79].N != 80 {
		t.Errorf("%d attempts, %v", len(list), err)
	}
}
