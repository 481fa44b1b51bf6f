package intake

import (
	"context"
	"errors"
	"fmt"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store/txn"
)

// ErrConflict is the reason in the letter of a message whose key belongs to another.
var ErrConflict = errors.New("the key was used before with other content")

// Bury inserts letter and returns the outbox row of its copy to topic; none where topic
// is "" or the letter is there already.
func Bury(ctx context.Context, t *txn.Txn, letters dlq.Store, letter dlq.Letter, topic string) ([]outbox.Row, error) {
	id, written, err := letters.Insert(ctx, t, letter)
	if err != nil {
		return nil, fmt.Errorf("write dead letter: %w", err)
	}
	if !written || topic == "" {
		return nil, nil
	}
	letter.LetterID = id
	event, err := dlq.Copy(letter, topic).Encode(nil)
	if err != nil {
		return nil, fmt.Errorf("copy dead letter: %w", err)
	}
	return []outbox.Row{outbox.RowOf(event)}, nil
}
