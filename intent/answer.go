package intent

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/headrace/headrace"
)

// MaxAnswer is the size of the largest answer, in bytes of JSON.
const MaxAnswer = 1 << 20

// Answer keeps v, as JSON, as the answer to the message that tx handles. It is written with
// the final commit, so an intent that is done has its answer, and one that fails has none.
// A second call replaces the first. It is kept for as long as the message is known.
//
// An answer that has no JSON form, or is larger than MaxAnswer, is an error; the message
// fails if the handler returns it. In a handler of HandleBatch the error matches
// headrace.ErrNoAnswer. A message that is no intent may be answered too.
func Answer(tx *headrace.Tx, v any) error {
	b, err := json.Marshal(v)
	switch {
	case err != nil:
		return fmt.Errorf("answer: %w", err)
	case len(b) > MaxAnswer:
		return fmt.Errorf("answer: it has %d bytes of JSON, at most %d are kept: keep it in a table of your own, and answer with its key", len(b), MaxAnswer)
	}
	if err := headrace.Answer(tx, b); err != nil {
		return fmt.Errorf("answer: %w", err)
	}
	return nil
}

// Effects are effects of a leased handler that answer with v, after others. A leased handler
// without other effects returns Effects(v).
func Effects(v any, others ...headrace.Effects) headrace.Effects {
	return func(ctx context.Context, tx *headrace.Tx) error {
		for _, other := range others {
			if other == nil {
				continue
			}
			if err := other(ctx, tx); err != nil {
				return err
			}
		}
		return Answer(tx, v)
	}
}
