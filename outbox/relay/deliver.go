package relay

import (
	"context"
	"fmt"
	"strconv"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/attempt"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/outcome"
	"github.com/headrace/headrace/internal/publish"
	"github.com/headrace/headrace/outbox"
)

// newRecorder returns the Recorder for the rows of routes.
func newRecorder(st Store, o Options) *outcome.Recorder {
	host, build := attempt.Origin()
	return &outcome.Recorder{
		Store: st, Alerts: st.Operations().Alerts, DeadTopic: o.DeadLetterTopic, Host: host, Build: build, Redact: o.Redact,
	}
}

// Local implements local.Routes.
func (t *table) Local() outbox.Topics { return t.local }

// Messages implements local.Routes.
func (t *table) Messages(row *outbox.Row) []outcome.Message {
	routes := t.byTopic[row.Event.Topic]
	made := make([]outcome.Message, len(routes))
	for i := range routes {
		made[i] = routes[i].message(row)
	}
	return made
}

// message is the event of row for the route's handler, with the metadata that it would
// have been published with.
func (r *Route) message(row *outbox.Row) outcome.Message {
	ctx := headrace.WithArrival(context.Background(), headrace.Arrival{Coordinates: headrace.Coordinates{
		Broker: "outbox", Topic: row.Event.Topic, Position: strconv.FormatInt(row.RowID, 10),
	}})
	d := inbox.Received(publish.NewMessage(ctx, &row.Event, row.Event.Trace), r.scope(), r.Topic)
	d.OrderKey = row.Event.OrderKey
	bad := inbox.Identify(&d, r.Key, r.Fingerprint, nil)
	if bad == nil {
		panicked, _ := attempt.Catch(func() error {
			d.OrderKey = r.OrderKey(&d)
			return nil
		})
		if panicked != nil {
			bad = fmt.Errorf("order key: the function panicked (%T)", panicked.Value)
		}
	}
	d.OrderKey = encode.Fit(d.OrderKey, inbox.MaxKeyBytes)
	return outcome.Message{Bad: bad, Item: backlog.Item{Consumer: r.Consumer, Handler: r.Handler, Delivery: d, Strict: r.Strict}}
}
