package local

import (
	"context"
	"strconv"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/publish"
	"github.com/headrace/headrace/internal/task"
	"github.com/headrace/headrace/outbox"
)

// task returns the task of an event for the local handler of its topic; nil if there is
// none. The message is the one that would be published.
func (l *Line) task(row *outbox.Row) *task.Task {
	h := l.byTopic[row.Event.Topic]
	if h == nil {
		return nil
	}
	ctx := headrace.WithArrival(context.Background(), headrace.Arrival{
		Coordinates: headrace.Coordinates{Broker: "outbox", Topic: row.Event.Topic, Position: strconv.FormatInt(row.RowID, 10)},
		Time:        row.Created,
	})
	m := publish.NewMessage(ctx, &row.Event, row.Event.Trace)
	// An event's ID may be longer than a key, which by default is the message's id.
	m.UUID = encode.Fit(m.UUID, inbox.MaxKeyBytes)
	t := &task.Task{Handler: h, Delivery: inbox.Received(m, h.Scope, h.Topic)}
	h.Identify(t)
	return t
}

// count counts a local event as a delivery that has its outcome.
func count(t *task.Task, o task.Outcome) {
	h := t.Handler.Telemetry
	h.Delivered(&t.Delivery)
	h.Settled(int(o))
	t.TellLetter(o)
}
