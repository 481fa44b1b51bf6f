package relay

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/sqlite"
	"github.com/headrace/headrace/store/txn"
)

// silent is a real store whose outbox does not answer the first Poll, the first
// Read and the first Delete: what a cut connection without a timeout does.
type silent struct {
	store.Store
	outbox *silentOutbox
}

func (s silent) Outbox() store.Outbox { return s.outbox }

type silentOutbox struct {
	store.Outbox
	polls, reads, deletes atomic.Int64
}

func silence(ctx context.Context, calls *atomic.Int64) error {
	if calls.Add(1) > 1 {
		return nil
	}
	<-ctx.Done()
	return ctx.Err()
}

func (s *silentOutbox) Poll(ctx context.Context, marks []int64) (outbox.Poll, error) {
	if err := silence(ctx, &s.polls); err != nil {
		return outbox.Poll{}, err
	}
	return s.Outbox.Poll(ctx, marks)
}

func (s *silentOutbox) Read(ctx context.Context, t *txn.Txn, shard int, after int64, limit int) ([]outbox.Row, error) {
	if err := silence(ctx, &s.reads); err != nil {
		return nil, err
	}
	return s.Outbox.Read(ctx, t, shard, after, limit)
}

func (s *silentOutbox) Delete(ctx context.Context, t *txn.Txn, shard int, rows []int64) error {
	if err := silence(ctx, &s.deletes); err != nil {
		return err
	}
	return s.Outbox.Delete(ctx, t, shard, rows)
}

// counter is a sink that takes everything.
type counter chan string

func (c counter) Publish(_ string, msgs ...*message.Message) error {
	for _, m := range msgs {
		c <- m.UUID
	}
	return nil
}

func (counter) Close() error { return nil }

// A database that does not answer is a failure that is reported and got over, not a
// worker that waits for ever.
func TestADatabaseThatDoesNotAnswer(t *testing.T) {
	st, err := sqlite.Open(context.Background(), filepath.Join(t.TempDir(), "outbox.db"), sqlite.Options{Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = st.Close() }()
	tx, err := st.DB().Begin()
	if err != nil {
		t.Fatal(err)
	}
	if err := outbox.New(st.Outbox()).Publish(context.Background(), tx, headrace.Event{ID: "one", Topic: "t", Value: 1}); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	sink := make(counter, 10)
	states := make(chan error, 10)
	r, err := New(silent{st, &silentOutbox{Outbox: st.Outbox()}}, sink, Options{
		SinkID: "a counter", Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
		OnError: func(err error) { states <- err },
	})
	if err != nil {
		t.Fatal(err)
	}
	r.storeTimeout = time.Second
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	for range 2 { // before and after the Delete that got no answer
		select {
		case <-sink:
		case <-ctx.Done():
			t.Fatal("the row was not published again")
		}
	}
	for left := int64(1); left > 0 && ctx.Err() == nil; {
		if s, err := r.Status(ctx); err == nil {
			left = s.Ready
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	failed, recovered := 0, 0
	for len(states) > 0 {
		if err := <-states; err == nil {
			recovered++
		} else if errors.Is(err, context.DeadlineExceeded) {
			failed++
		}
	}
	if failed == 0 || recovered == 0 {
		t.Errorf("%d failures and %d recoveries were reported", failed, recovered)
	}
}
