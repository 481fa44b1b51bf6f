package runtime

import (
	"github.com/headrace/headrace/internal/intervene"
	"github.com/headrace/headrace/internal/maintenance"
	"github.com/headrace/headrace/internal/rehearsal"
	"github.com/headrace/headrace/internal/task"
)

// actions are what a person may ask this process for.
func (r *Run) actions(handlers []*task.Handler) map[string]maintenance.Action {
	rehearser := rehearsal.New(rehearsal.Options{
		Store: r.rt.Store, Handlers: handlers, Instance: r.instance.self, Guard: r.instance.guard,
		Sessions: &r.calls, Left: &r.rt.left, Upkeep: r.upkeep, Redact: r.rt.Redact, Logger: r.rt.Logger,
	})
	desk := &intervene.Desk{Store: r.rt.Store, Instance: r.instance.self}
	return map[string]maintenance.Action{rehearsal.Kind: rehearser.Act, intervene.RetryKind: desk.Retry, intervene.CancelKind: desk.Cancel}
}
