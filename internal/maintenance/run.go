package maintenance

import (
	"context"
	"log/slog"
	"maps"
	"sync"

	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/counting"
	"github.com/headrace/headrace/internal/editing"
	"github.com/headrace/headrace/internal/intervene"
	"github.com/headrace/headrace/internal/redriving"
	"github.com/headrace/headrace/internal/task"
	"github.com/headrace/headrace/internal/telemetry"
	"github.com/headrace/headrace/internal/watching"
	"github.com/headrace/headrace/store"
)

// Options are what the tasks work with. All fields but Actions, Upkeep and Watch are required.
type Options struct {
	Store store.Store
	// Instance is this process, Handlers are those of its consumer.
	Instance instance.Instance
	Handlers []*task.Handler
	// Paused reports whether a person has paused the consumer.
	Paused func() bool
	// Actions do what is asked, by the kind of the request.
	Actions map[string]instance.Action
	// Upkeep records what is done; nil records nothing.
	Upkeep *telemetry.Upkeep
	// Watch judges what is wrong, and sends the alerts; nil is without.
	Watch  *watching.Watch
	Logger *slog.Logger
}

// Run works until ctx ends. It blocks until all tasks have ended.
func Run(ctx context.Context, o Options) {
	var tasks sync.WaitGroup
	defer tasks.Wait()
	redrives := &redriving.Engine{Store: o.Store, Consumer: o.Instance.Consumer, Instance: o.Instance.ID, Handlers: o.Handlers, Upkeep: o.Upkeep, Logger: o.Logger}
	tasks.Go(func() { redrives.Run(ctx) })
	actions := maps.Clone(o.Actions)
	if actions == nil {
		actions = make(map[string]instance.Action)
	}
	maps.Copy(actions, redrives.Actions())
	maps.Copy(actions, (&editing.Admin{Store: o.Store, Handlers: o.Handlers}).Actions())
	maps.Copy(actions, (&intervene.Admin{Store: o.Store, Instance: o.Instance}).Actions())
	if o.Watch != nil {
		actions[watching.TestKind] = o.Watch.Test
	}
	o.Actions = actions
	asked := newRequestWorker(o)
	tasks.Go(func() { asked.run(ctx) })
	if o.Watch != nil {
		tasks.Go(func() { o.Watch.Run(ctx) })
	}
	counts := &counting.Loop{Counter: counting.New(o.Store), Instances: o.Store.Operations().Instances, Logger: o.Logger}
	counts.Upkeep = o.Upkeep
	tasks.Go(func() { counts.Run(ctx) })
}
