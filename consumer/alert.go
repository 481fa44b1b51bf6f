package consumer

import (
	"context"
	"errors"
	"time"

	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/internal/alerting"
	"github.com/headrace/headrace/internal/group"
)

// startAlerts starts what passes alerts on: those of this process, and those that are
// rows: the consumer's own, and with a sink the relay's. Both share the hook.
func (r *run) startAlerts() {
	c := r.c
	namespaces := []string{c.name}
	if c.config.Sink != nil {
		namespaces = append(namespaces, "")
	}
	caller := alerting.NewCaller(c.config.Alert, c.config.Logger)
	r.dispatcher = alerting.NewDispatcher(caller, c.config.Alerts)
	r.rows = alerting.NewReader(c.st, caller, c.config.Alerts, namespaces...)
}

// closeAlerts ends both, each with one more try, in grace.
func (r *run) closeAlerts() error {
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	sent := make(chan error, 1)
	go func() { sent <- r.dispatcher.Close(ctx) }()
	// The last statements have a second of their own, and a rollback its time.
	err := atMost(3*grace, "alerts", func() error { return r.rows.Close(ctx) })
	return errors.Join(err, <-sent)
}

// alert tells of what happened in this process.
func (r *run) alert(kind alerts.Kind, h *group.Handler, text string) {
	a := alerts.Alert{Kind: kind, Consumer: r.c.name, Text: text, At: time.Now()}
	if h != nil {
		a.Handler, a.Topic = h.Name, h.Topic
	}
	r.dispatcher.Send(a)
}

// wakeAlerts has the rows read after an outcome that wrote one.
func (r *run) wakeAlerts(o group.Outcome) {
	if o == group.Dead || o == group.Conflict {
		r.rows.Wake()
	}
}

// relayStalled tells of the relay, which is shared by the consumers of a store.
func (r *run) relayStalled(cause error) {
	if cause == nil {
		r.alert(alerts.RelayResumed, nil, "the sink confirms events again")
		return
	}
	r.alert(alerts.RelayStalled, nil, "the sink confirms nothing: events wait in the outbox, none is lost or parked: see headrace outbox status")
}
