package dlq

import (
	"context"
	"fmt"

	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store/txn"
)

// Bury inserts letter and returns the outbox row of its copy to topic; none where topic
// is "" or the letter is there already. It is for engines: the message's inbox row is
// theirs to write, in the same transaction.
func Bury(ctx context.Context, t *txn.Txn, letters Store, letter Letter, topic string) ([]outbox.Row, error) {
	id, written, err := letters.Insert(ctx, t, letter)
	if err != nil {
		return nil, fmt.Errorf("write dead letter: %w", err)
	}
	if !written || topic == "" {
		return nil, nil
	}
	letter.LetterID = id
	event, err := Copy(letter, topic).Encode(nil)
	if err != nil {
		return nil, fmt.Errorf("copy dead letter: %w", err)
	}
	return []outbox.Row{outbox.RowOf(event)}, nil
}
