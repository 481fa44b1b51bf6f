package relay

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/attempt"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/intake"
	"github.com/headrace/headrace/outbox"
)

const (
	// lockTimeout bounds a batch's wait for keys that others work on, and takeTime all
	// of its waits for keys and order keys.
	lockTimeout = 200 * time.Millisecond
	takeTime    = 5 * time.Second
)

// newIntake returns what writes the rows of routes.
func newIntake(st Store, o Options) *intake.Intake {
	host, build := attempt.Origin()
	k := &intake.Intake{Store: st, DeadTopic: o.DeadLetterTopic, Host: host, Build: build, LockTimeout: lockTimeout}
	if rows := st.Operations().Alerts; rows != nil {
		k.Alerts = rows
	}
	return k
}

// messages returns what the routes of row's topic make of it.
func (t *table) messages(row *outbox.Row) []intake.Message {
	routes := t.byTopic[row.Event.Topic]
	made := make([]intake.Message, len(routes))
	for i := range routes {
		made[i] = routes[i].message(row)
	}
	return made
}

// message is the event of row as the route's handler will be given it: with the
// metadata that it would have been published with.
func (r *Route) message(row *outbox.Row) intake.Message {
	ctx := headrace.WithCoordinates(context.Background(), headrace.Coordinates{
		Broker: "outbox", Topic: row.Event.Topic, Position: strconv.FormatInt(row.RowID, 10),
	})
	d := inbox.Received(newMessage(ctx, &row.Event, row.Event.Trace), r.scope(), r.Topic)
	d.OrderKey = row.Event.OrderKey
	bad := inbox.Identify(&d, r.Key, r.Fingerprint)
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
	return intake.Message{Bad: bad, Item: backlog.Item{Consumer: r.Consumer, Handler: r.Handler, Delivery: d, Strict: r.Strict}}
}

// wake wakes the consumers that were given something.
func (r *Relay) wake(messages []intake.Message, taking intake.Taking) {
	woken := make(map[string]bool)
	for i := range messages {
		if name := messages[i].Item.Consumer; taking.Outcomes[i] == intake.Taken && !woken[name] {
			woken[name] = true
			r.store.Backlog().Signals.Wake(name)
		}
	}
	if len(taking.Copies) > 0 {
		r.store.Outbox().Signal().Wake()
	}
}
