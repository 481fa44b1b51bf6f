package dlq

import (
	"context"
	"fmt"

	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store/txn"
)

// Bury inserts letter with its alert, and returns the outbox row of its copy to topic;
// none where topic is "" or the letter is there already. Where rows is nil there is no
// alert. It is for engines: the message's inbox row is
// theirs to write, in the same transaction.
func Bury(ctx context.Context, t *txn.Txn, letters Store, rows alerts.Appender, letter Letter, topic string) ([]outbox.Row, error) {
	id, written, err := letters.Insert(ctx, t, letter)
	if err != nil {
		return nil, fmt.Errorf("write dead letter: %w", err)
	}
	if !written {
		return nil, nil
	}
	if letter.LetterID = id; rows != nil {
		if err := appendAlert(ctx, t, rows, letter); err != nil {
			return nil, err
		}
	}
	if topic == "" {
		return nil, nil
	}
	event, err := Copy(letter, topic).Encode(nil)
	if err != nil {
		return nil, fmt.Errorf("copy dead letter: %w", err)
	}
	return []outbox.Row{outbox.RowOf(event)}, nil
}

// appendAlert adds the alert of a letter to its transaction. It only appends: what
// is counted there would have to be waited for.
func appendAlert(ctx context.Context, t *txn.Txn, rows alerts.Appender, l Letter) error {
	err := rows.Append(ctx, t, []alerts.Alert{{
		Kind: alerts.DeadLetter, Consumer: l.Consumer, Handler: l.Handler, Topic: l.Delivery.Topic,
		Class: string(l.Class), ErrorPrint: l.ErrorPrint, LetterID: l.LetterID,
	}})
	if err != nil {
		return fmt.Errorf("write the alert of a dead letter: %w", err)
	}
	return nil
}
