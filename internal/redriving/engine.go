package redriving

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/headrace/headrace/audit"
	"github.com/headrace/headrace/dlq/job"
	"github.com/headrace/headrace/dlq/redrive"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/task"
	"github.com/headrace/headrace/internal/telemetry"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/txn"
)

// Engine works on the redrives of a consumer. It is safe for concurrent use. All fields but
// Upkeep and DryRun are required.
type Engine struct {
	Store    store.Store
	Consumer string
	// Instance is the id of this process's instance. Until its row is written, no step is taken:
	// the consumer would seem to run no build. "" does not wait.
	Instance string
	// Handlers are those of the consumer in this process: they give the keys of letters under
	// stand-in keys.
	Handlers []*task.Handler
	// Upkeep records what is done; nil records nothing.
	Upkeep *telemetry.Upkeep
	// DryRun has Apply, Pause, Resume and Cancel write nothing: they return what they would make of
	// the redrive, or the error that refuses it.
	DryRun bool
	Logger *slog.Logger
}

const (
	// lockTimeout bounds the wait for keys that other transactions hold.
	lockTimeout = time.Second
	// batch is how many letters a transaction forgets, and window how many it looks at to list
	// them: in between, the write lock of SQLite is free. A larger window has PostgreSQL compile the
	// statement (jit_above_cost), which takes longer than the statement itself.
	batch  = 20_000
	window = 5_000
	// sendBytes bounds the payloads that a step reads.
	sendBytes = 16 << 20
)

// limits take a job from a process that was stopped.
var limits = txn.Limits{Idle: 10 * time.Second, Statement: 30 * time.Second}

func (e *Engine) jobs() job.Store { return e.Store.Operations().Redrives }

func (e *Engine) admin() *redrive.Admin { return redrive.New(e.Store) }

// world is what is known of the consumer.
type world struct {
	job.World
	handlers map[string]bool // those of the processes that run
	self     bool            // this process is one of them
}

// world reads the processes and the pause of the consumer.
func (e *Engine) world(ctx context.Context) (w world, err error) {
	list, err := e.Store.Operations().Instances.List(ctx, e.Consumer)
	if err != nil {
		return w, err
	}
	w.handlers, w.self = make(map[string]bool), e.Instance == ""
	for _, i := range list {
		if !i.Ended.IsZero() {
			continue
		}
		died := i.Dead(instance.Missed)
		w.self = w.self || i.ID == e.Instance && !died
		w.Processes = append(w.Processes, job.Process{Host: i.Host, Build: i.Build, Beat: i.Beat, Died: died})
		for _, name := range i.Handlers {
			w.handlers[name] = w.handlers[name] || !died
		}
	}
	p, err := e.Store.Operations().Pauses.Get(ctx, e.Consumer)
	if err != nil {
		return w, err
	}
	if p.Lasts() {
		w.Paused = fmt.Sprintf("%s is paused by %s", e.Consumer, p.By)
		if p.Reason != "" {
			w.Paused += ": " + p.Reason
		}
	}
	return w, nil
}

// change locks a redrive, calls f with it, and writes what f has changed, with an audit row unless
// its Action is "", in one transaction.
func (e *Engine) change(ctx context.Context, id int64, row audit.Row, f func(r *job.Redrive) error) (r job.Redrive, err error) {
	if e.DryRun {
		if r, err = e.jobs().Get(ctx, id); err == nil {
			err = f(&r)
		}
		return r, err
	}
	err = store.Transact(ctx, e.Store, func(t *txn.Txn) error {
		var found bool
		r, found, err = e.jobs().Lock(ctx, t, id, true, limits)
		switch {
		case err != nil:
			return err
		case !found || r.Consumer != e.Consumer:
			return fmt.Errorf("%w of %s: %s", job.ErrNotFound, e.Consumer, job.Name(id))
		}
		if err := f(&r); err != nil {
			return err
		}
		if row.Action != "" {
			row.Kind, row.Subject = audit.Redrive, strconv.FormatInt(id, 10)
			if err := e.Store.Operations().Audit.Record(ctx, t, row); err != nil {
				return err
			}
		}
		return e.jobs().Change(ctx, t, r)
	})
	return r, err
}
