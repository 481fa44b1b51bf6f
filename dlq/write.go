package dlq

import (
	"context"
	"fmt"

	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store/txn"
)

// Write inserts letters, and returns the outbox rows of their copies.
// topic returns the topic of a copy for the topic of its message; "" means no copy. Write
// is for engines: they write the messages' inbox rows themselves, in the same transaction.
func Write(ctx context.Context, t *txn.Txn, letters Store, list []Letter, topic func(string) string) ([]outbox.Row, []Inserted, error) {
	if len(list) == 0 {
		return nil, nil, nil
	}
	inserted, err := letters.Insert(ctx, t, list)
	if err != nil {
		return nil, nil, fmt.Errorf("write dead letters: %w", err)
	}
	var copies []outbox.Row
	for i, l := range list {
		if !inserted[i].Written {
			continue
		}
		l.LetterID = inserted[i].LetterID
		to := topic(l.Delivery.Topic)
		if to == "" {
			continue
		}
		event, err := Copy(l, to).Encode(nil)
		if err != nil {
			return nil, nil, fmt.Errorf("copy dead letter: %w", err)
		}
		copies = append(copies, outbox.RowOf(event))
	}
	return copies, inserted, nil
}
