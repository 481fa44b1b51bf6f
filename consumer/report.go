package consumer

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/internal/attempt"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/group"
	"github.com/headrace/headrace/internal/routed"
	"github.com/headrace/headrace/outbox/relay"
)

const (
	// grace is how long a handler may go on after its deadline before it is left
	// behind, and how long an alert hook has at the end.
	grace = 5 * time.Second
	// patience bounds our own statements of one transaction.
	patience = 30 * time.Second
	// lockTimeout bounds a group's wait for keys that other processes work on.
	lockTimeout = 200 * time.Millisecond
)

// options are what the engines share.
func (r *run) options() *group.Options {
	c := r.c
	host, build := attempt.Origin()
	return &group.Options{
		Gate: c.gate, Inflight: group.NewInflight(),
		MaxBatch: c.config.MaxBatch, BatchTime: c.config.BatchTime,
		Patience: patience, Grace: grace, LockTimeout: lockTimeout, DeadTopic: r.deadTopic,
		Host: host, Build: build, Versions: c.st.Operations().Versions, Wake: c.st.Outbox().Signal().Wake,
		Failed:  r.failed,
		Drained: func(_ *group.Handler, o group.Outcome) { c.stats.drained(o); r.wakeAlerts(o) },
		Alerts:  c.st.Operations().Alerts,
		Held:    c.hold.held,
		Stuck:   r.stuck, Returned: r.returned, Fatal: r.fail, Handlers: &r.handlers,
	}
}

// failed logs a failed run: what failed and what follows, never the words of the
// handler's error, since they may hold payload.
func (r *run) failed(h *group.Handler, t *group.Task, f dlq.Failure, class string, took time.Duration, o group.Outcome, again bool) {
	r.c.stats.failed.Add(1)
	next, attempt := o.String(), t.Delivery.Attempt
	if again {
		next, attempt = "again", attempt-1 // the task counts the run to come
	}
	level := slog.LevelInfo
	if o == group.Dead && !again {
		level = slog.LevelWarn
	}
	r.c.config.Logger.LogAttrs(context.Background(), level, "message failed",
		slog.String("consumer", h.Consumer), slog.String("handler", h.Name), slog.String("class", class),
		slog.String("error_type", f.Type), slog.String("error_print", f.Print),
		slog.Int("attempt", attempt), slog.Duration("took", took), slog.String("next", next))
}

// deadTopic names the topic for the copy of a dead letter. What the user's function
// may not return makes no copy, and is logged: a verdict never fails for it.
func (r *run) deadTopic(topic string) string {
	dead, err := routed.CopyTopic(r.c.config.DeadLetterTopic, topic)
	if err == nil {
		return dead
	}
	r.c.config.Logger.Error("no copy of a dead letter: Config.DeadLetterTopic", "consumer", r.c.name, "topic", topic, "error", err)
	return ""
}

func (r *run) gateChanged(cause error) {
	if cause != nil {
		r.c.config.Logger.Error("paused: our own statements fail", "consumer", r.c.name, "error", encode.Said(cause))
	}
	r.tellPause("messages are handled again")
}

func (r *run) backlogState(err error) {
	if r.soft.Err() != nil {
		return // what failed may be the end of its context
	}
	if err != nil {
		r.c.gate.Fail(err)
		return
	}
	r.c.gate.OK()
}

func (r *run) unknownHandler(name string) {
	r.c.config.Logger.Warn("the backlog holds a message for a handler that is not registered here; it is put off",
		"consumer", r.c.name, "handler", name)
}

// startRelay joins the relay of the store in this process, where there is a sink or a
// route, and shows the gauges.
func (r *run) startRelay() (err error) {
	routes, err := r.c.routes()
	if err != nil {
		return err
	}
	if err := r.watch(); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.unwatch())
		}
	}()
	if r.c.config.Sink == nil && len(routes) == 0 {
		return nil
	}
	o := r.c.config.Relay
	o.Routes = slices.Concat(o.Routes, routes)
	if o.DeadLetterTopic == nil {
		o.DeadLetterTopic = r.deadTopic
	}
	if o.Logger == nil {
		o.Logger = r.c.config.Logger
	}
	if o.TracerProvider == nil {
		o.TracerProvider = r.c.config.TracerProvider
	}
	if o.MeterProvider == nil {
		o.MeterProvider = r.c.config.MeterProvider
	}
	if o.Name == "" {
		o.Name = r.c.name
	}
	parked := o.OnParked
	o.OnParked = func(p relay.Parked) {
		r.rows.Wake()
		if parked != nil {
			parked(p)
		}
	}
	shared, leave, err := relay.Acquire(r.c.st, r.c.config.Sink, o)
	if err != nil {
		return err
	}
	forget := shared.Watch(r.relayStalled)
	r.leave = func(ctx context.Context) error {
		forget()
		return leave(ctx)
	}
	return nil
}
