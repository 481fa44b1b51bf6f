package runtime

import (
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/rehearsal"
	"github.com/headrace/headrace/internal/task"
)

// actions are what a person may ask this process for.
func (r *Run) actions(handlers []*task.Handler) map[string]instance.Action {
	rehearser := rehearsal.New(rehearsal.Options{
		Store: r.rt.Store, Handlers: handlers, Instance: r.instance.self, Guard: r.instance.guard,
		Sessions: &r.calls, Left: &r.rt.left, Upkeep: r.upkeep, Redact: r.rt.Redact, Logger: r.rt.Logger,
	})
	return map[string]instance.Action{rehearsal.Kind: rehearser.Act}
}
