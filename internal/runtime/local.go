package runtime

import (
	"context"
	"strconv"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/batch"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/local"
	"github.com/headrace/headrace/internal/publish"
	"github.com/headrace/headrace/internal/task"
	"github.com/headrace/headrace/outbox"
)

// Local returns the topics of the handlers that get events of the outbox.
func (rt *Runtime) Local() (topics []string) {
	for _, h := range rt.handlers {
		if h.local() {
			topics = append(topics, h.Topic)
		}
	}
	return topics
}

// local reports whether the handler gets events of the outbox. A handler of a Router has
// no Topic.
func (h *Handler) local() bool { return h.Source == nil && h.Topic != "" }

// startLocal begins to deliver the outbox's events to local handlers, if there are any.
func (r *Run) startLocal(o *batch.Options) {
	rt := r.rt
	topics := rt.Local()
	if len(topics) == 0 {
		close(r.local)
		return
	}
	line := local.New(local.Options{
		Store: o.Store, Subscriptions: rt.Store.Operations().Subscriptions, Consumer: rt.Name, Topics: topics,
		Task: rt.localTask, Settled: r.localSettled, Subscribed: r.localSubscribed,
		StoreTimeout: storeTimeout, Recorder: o.Recorder, Logger: rt.Logger,
	})
	r.workers.Go(func() { line.Run(r.Stopping) })
}

// localSubscribed notes that the subscriptions of local handlers are recorded.
func (r *Run) localSubscribed() {
	for _, h := range r.rt.handlers {
		if h.local() {
			h.sub.Set("local")
		}
	}
	close(r.local)
}

// subscribed waits until the local handlers are subscribed, so that they get the events of
// all work that begins now. It reports false if the consumer stops.
func (r *Run) subscribed() bool {
	select {
	case <-r.local:
		return true
	case <-r.Stopping.Done():
		return false
	}
}

// localTask returns the task of an event for the local handler of its topic; nil if there
// is none. The message is the one that would be published.
func (rt *Runtime) localTask(row *outbox.Row) *task.Task {
	for _, h := range rt.handlers {
		if h.local() && h.Topic == row.Event.Topic {
			return h.localTask(row)
		}
	}
	return nil
}

func (h *Handler) localTask(row *outbox.Row) *task.Task {
	ctx := headrace.WithArrival(context.Background(), headrace.Arrival{Coordinates: headrace.Coordinates{
		Broker: "outbox", Topic: row.Event.Topic, Position: strconv.FormatInt(row.RowID, 10),
	}})
	m := publish.NewMessage(ctx, &row.Event, row.Event.Trace)
	// An event's ID may be longer than a key, which by default is the message's id.
	m.UUID = encode.Fit(m.UUID, inbox.MaxKeyBytes)
	t := &task.Task{Handler: h.Handler, Delivery: inbox.Received(m, h.Scope, h.Topic)}
	t.Bad = h.resolve(t, h.Key, nil)
	return t
}

// localSettled counts a local event as a delivery that has its outcome.
func (r *Run) localSettled(t *task.Task, o task.Outcome) {
	h := t.Handler.Telemetry
	h.Delivered(&t.Delivery)
	h.Settled(int(o))
	if t.Letter != "" {
		h.DeadLettered(&t.Delivery, string(t.Letter))
	}
	r.rt.Counters.Delivered.Add(1)
	r.rt.Counters.Live[o].Add(1)
	r.alerts.outcome(o)
}
