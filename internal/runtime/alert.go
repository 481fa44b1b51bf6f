package runtime

import (
	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/internal/reporting"
	"github.com/headrace/headrace/internal/task"
	"github.com/headrace/headrace/internal/watching"
)

// newReporter returns that of the instance called id. called is told of each call of a sink.
func newReporter(rt *Runtime, id string, called func(sink string, kind alerts.Kind, ok bool)) *reporting.Reporter {
	return reporting.New(reporting.Options{
		Watch: watching.Options{
			Store: rt.Store, Consumer: rt.Name, Owner: id, Environment: rt.Environment, Build: rt.Build, OpenLetters: rt.Retention.OpenLetters,
			Alerts: rt.Alerts, Logger: rt.Logger,
		},
		Called: called, Breaker: rt.Breaker, Pause: rt.Pause, Subscriptions: rt.Subscriptions, Left: &rt.left, Grace: Grace,
	})
}

// Alert says that something is wrong until this process ends. h may be nil.
func (r *Run) Alert(kind alerts.Kind, h *task.Handler, text string) { r.alerts.Ended(kind, h, text) }
