package redriving_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/headrace/headrace/dlq/job"
	"github.com/headrace/headrace/internal/redriving"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/txn"
)

// shaky is a store whose transactions fail at random: they do not begin, or their commit has no
// answer, whether it happened or not.
type shaky struct {
	store.Store
	random *rand.Rand
	fails  int
}

func (s *shaky) fail() bool {
	if s.random.IntN(3) > 0 {
		return false
	}
	s.fails++
	return true
}

func (s *shaky) Begin(ctx context.Context) (*txn.Txn, error) {
	if s.fail() {
		return nil, errors.New("the connection is gone")
	}
	return s.Store.Begin(ctx)
}

func (s *shaky) Commit(ctx context.Context, t *txn.Txn, events []outbox.Row) error {
	switch {
	case !s.fail():
		return s.Store.Commit(ctx, t, events)
	case s.random.IntN(2) == 0:
		t.Rollback()
	default:
		if err := s.Store.Commit(ctx, t, events); err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: no answer", txn.ErrCommitUnknown)
}

// Whatever step fails, at whatever point: each letter is sent once, and the list is true.
//
//evidence:redrive-job unknown
func TestStepsFail(t *testing.T) {
	onBoth(t, func(b *fixture) {
		ids := b.die(many(60)...)
		id := b.run(func(p *redriving.Plan) { p.Stages, p.MaxRunning, p.PauseAt = nil, 7, 100 })
		st := &shaky{Store: b.st, random: rand.New(rand.NewPCG(1, 2))}
		engine := b.process(st)
		sent := make(map[int64]int)
		for range 1000 {
			if b.get(id).State == job.Done {
				break
			}
			b.beat()
			_, _ = engine.Step(b.ctx, id) // an error is read again by the next step
			for _, i := range b.ready() {
				sent[i.LetterID]++
				if strings.HasSuffix(i.Delivery.Key, "0") {
					b.fail(i)
				} else {
					b.succeed(i)
				}
			}
		}
		r, outcomes := b.get(id), b.outcomes(id)
		if r.State != job.Done || r.Succeeded != 54 || r.FailedAgain != 6 || st.fails < 5 {
			b.Errorf("after %d failures: %+v", st.fails, r)
		}
		for i, letterID := range ids {
			want := job.Succeeded
			if i%10 == 0 {
				want = job.FailedAgain
			}
			if e := outcomes[letterID]; e.State != want || sent[letterID] != 1 {
				b.Errorf("letter %d was sent %d times, and is %s (%s), want %s", letterID, sent[letterID], e.State, e.Why, want)
			}
		}
	})
}
