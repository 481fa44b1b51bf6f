package dlq

import (
	"context"
	"fmt"

	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store/txn"
)

// Write inserts letters with their alerts, and returns the outbox rows of their copies.
// topic returns the topic of a copy for the topic of its message; "" means no copy. If
// rows is nil there are no alerts. Write is for engines: they write the messages' inbox
// rows themselves, in the same transaction.
func Write(ctx context.Context, t *txn.Txn, letters Store, rows alerts.Appender, list []Letter, topic func(string) string) ([]outbox.Row, []Inserted, error) {
	if len(list) == 0 {
		return nil, nil, nil
	}
	inserted, err := letters.Insert(ctx, t, list)
	if err != nil {
		return nil, nil, fmt.Errorf("write dead letters: %w", err)
	}
	var told []alerts.Alert
	var copies []outbox.Row
	for i, l := range list {
		if !inserted[i].Written {
			continue
		}
		l.LetterID = inserted[i].LetterID
		told = append(told, l.Alert())
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
	if rows == nil || len(told) == 0 { // append only: counting here would wait for other transactions
		return copies, inserted, nil
	}
	if err := rows.Append(ctx, t, told); err != nil {
		return nil, nil, fmt.Errorf("write the alerts of dead letters: %w", err)
	}
	return copies, inserted, nil
}

// Alert is the alert for l when it is written or opened again.
func (l Letter) Alert() alerts.Alert {
	return alerts.Alert{
		Kind: alerts.DeadLetter, Consumer: l.Consumer, Handler: l.Handler, Topic: l.Delivery.Topic,
		Class: string(l.Class), ErrorFingerprint: l.ErrorFingerprint, LetterID: l.LetterID,
	}
}
