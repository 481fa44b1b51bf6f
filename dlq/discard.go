package dlq

import (
	"context"
	"fmt"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/store/txn"
)

// Discard gives open letters up, oldest first, in batches of one commit each: the
// letter discarded, its inbox row discarded if it is dead, and the audit row. A
// redelivery of the message is then a duplicate. The inbox row of a conflict belongs
// to another message and stays as it is. Letters are kept with their payload until
// retention removes them.
//
// It blocks until all are done or ctx ends, and may be called again at any time. The
// error matches ErrInvalid and nothing was done, or it is a *PartialError.
func (d *Desk) Discard(ctx context.Context, r DiscardRequest) (DiscardResult, error) {
	if err := r.check(); err != nil {
		return DiscardResult{}, fmt.Errorf("discard: %w", err)
	}
	s := &sweep{
		st: d.st, patience: d.patience, to: Discarded, limit: r.Limit, progress: r.Progress,
		audit: Audit{Action: "discard", By: r.By, Reason: r.Reason},
	}
	s.apply = discard{st: d.st}.apply
	err := s.run(ctx, r.Filter)
	if err != nil {
		err = fmt.Errorf("discard: %w", err)
	}
	return DiscardResult{Discarded: s.done, Skipped: s.skipped, Skips: s.skips}, err
}

type discard struct{ st Deps }

// apply refuses nothing: where the message is not dead any more, its letter is only
// a paper that nobody needs.
func (d discard) apply(ctx context.Context, t *txn.Txn, letters []Letter) ([]Skip, error) {
	var own []Letter
	for _, l := range letters {
		if l.Class != Conflict {
			own = append(own, l)
		}
	}
	if len(own) == 0 {
		return nil, nil
	}
	_, err := move(ctx, d.st, t, own, inbox.Discarded)
	return nil, err
}
