package intent_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/lib/pq"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/txn"
)

// countedStore counts the queries for waiters.
type countedStore struct {
	store.Store
	most, open atomic.Int64 // messages of one query, queries at a time
	mu         sync.Mutex
	asked      chan struct{} // closed by the next query
}

func (s *countedStore) Operations() store.Operations {
	o := s.Store.Operations()
	o.Answers = countedAnswers{o.Answers, s}
	return o
}

// next waits for a query.
func (s *countedStore) next(ctx context.Context) {
	s.mu.Lock()
	if s.asked == nil {
		s.asked = make(chan struct{})
	}
	asked := s.asked
	s.mu.Unlock()
	select {
	case <-asked:
	case <-ctx.Done():
	}
}

type countedAnswers struct {
	store.Answers
	s *countedStore
}

func (a countedAnswers) Find(ctx context.Context, ids []inbox.ID) ([]inbox.Entry, error) {
	s := a.s
	if s.open.Add(1) == 1 {
		defer s.open.Add(-1)
	}
	s.most.Store(max(s.most.Load(), int64(len(ids))))
	s.mu.Lock()
	if s.asked != nil {
		close(s.asked)
		s.asked = nil
	}
	s.mu.Unlock()
	return a.Answers.Find(ctx, ids)
}

// silentStore gives no answer to some commits.
type silentStore struct {
	store.Store
	// lost and late are how many commits to come have no answer: those that do not happen,
	// and those that do.
	lost, late atomic.Int64
}

func (s *silentStore) Commit(ctx context.Context, t *txn.Txn, events []outbox.Row) error {
	if s.lost.Add(-1) >= 0 {
		t.Rollback()
		return fmt.Errorf("%w: the network", txn.ErrCommitUnknown)
	}
	err := s.Store.Commit(ctx, t, events)
	if err == nil && s.late.Add(-1) >= 0 {
		return fmt.Errorf("%w: the network", txn.ErrCommitUnknown)
	}
	return err
}

// cutOffStore ends a context when attempts are read, and fails as lib/pq does then.
type cutOffStore struct {
	store.Store
	cancel func()
}

func (s cutOffStore) Inbox() inbox.Store { return cutOffInbox{s.Store.Inbox(), s.cancel} }

type cutOffInbox struct {
	inbox.Store
	cancel func()
}

func (s cutOffInbox) Attempts(context.Context, inbox.ID) ([]inbox.Attempt, error) {
	s.cancel()
	return nil, &pq.Error{Code: "57014", Message: "canceling statement due to user request"}
}
