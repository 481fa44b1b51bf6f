package maintenance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/outage"
	"github.com/headrace/headrace/internal/sleep"
	"github.com/headrace/headrace/internal/telemetry"
)

const (
	// lookEvery is the time between two looks for requests.
	lookEvery = time.Second
	// answerTime bounds an attempt to write an answer, and lookTime a look.
	answerTime = 5 * time.Second
	lookTime   = 10 * time.Second
	// cleanEvery is the time between two looks for requests whose time is over: for expireAge, from when on a form
	// does not bring back what was typed, and for forgetAge.
	cleanEvery = 10 * time.Minute
	expireAge  = time.Hour
	forgetAge  = 35 * 24 * time.Hour
)

// requestWorker takes requests and answers them. One action of a kind runs at a time.
type requestWorker struct {
	requests instance.Requests
	self     instance.Instance
	actions  map[string]instance.Action
	upkeep   *telemetry.Upkeep
	logger   *slog.Logger

	free    map[string]bool // kinds without a running action
	ended   chan string     // kinds whose action has ended
	cleanAt time.Time       // when old requests are removed next

	looks, answers, cleans outage.Part
}

func newRequestWorker(o Options) *requestWorker {
	w := &requestWorker{
		requests: o.Store.Operations().Requests, self: o.Instance, actions: o.Actions, upkeep: o.Upkeep, logger: o.Logger,
		free: make(map[string]bool), ended: make(chan string, len(o.Actions)),
		looks: outage.Part{Fails: "cannot look for requests; trying again"}, answers: outage.Part{Fails: "cannot answer a request; trying again"},
		cleans: outage.Part{Fails: "cannot remove old requests; trying again"},
	}
	for kind := range o.Actions {
		w.free[kind] = true
	}
	return w
}

// run takes requests until ctx ends, and returns when the last action has ended.
func (w *requestWorker) run(ctx context.Context) {
	if len(w.actions) == 0 {
		return
	}
	var running sync.WaitGroup
	defer running.Wait()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		for r, ok := w.take(ctx); ok; r, ok = w.take(ctx) {
			delete(w.free, r.Kind)
			running.Go(func() {
				w.answer(ctx, r.ID, w.act(ctx, r))
				w.ended <- r.Kind
			})
		}
		w.clean(ctx)
		select {
		case <-tick.C:
		case kind := <-w.ended:
			w.free[kind] = true
		case <-ctx.Done():
			return
		}
	}
}

// take takes a request of a free kind.
func (w *requestWorker) take(ctx context.Context) (instance.Request, bool) {
	if len(w.free) == 0 || ctx.Err() != nil {
		return instance.Request{}, false
	}
	looking, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	start := time.Now()
	r, ok, err := w.requests.Take(looking, w.self, slices.Sorted(maps.Keys(w.free)))
	if w.looks.Tell(ctx, w.logger, err); err == nil {
		w.upkeep.Ran("requests")
	}
	if !ok || err != nil {
		return instance.Request{}, false
	}
	if time.Since(start) > instance.TakeTime { // the person was told that nothing was done
		w.answer(ctx, r.ID, instance.Answer{State: instance.RequestRefused, Error: "taking it lasted too long; nothing was done"})
		return instance.Request{}, false
	}
	return r, true
}

// act runs the action of a request.
func (w *requestWorker) act(ctx context.Context, r instance.Request) (a instance.Answer) {
	defer func() {
		if v := recover(); v != nil {
			w.logger.Error("a request panicked", "kind", r.Kind, "request", r.ID, "panic", fmt.Sprintf("%T", v), "stack", string(debug.Stack()))
			a = instance.Answer{State: instance.RequestFailed, Error: fmt.Sprintf("%s panicked; the log of %s has the stack", r.Kind, w.self.Host)}
		}
	}()
	value, err := w.actions[r.Kind](w.withProgress(ctx, r.ID), r)
	var encoded []byte
	if err == nil {
		encoded, err = json.Marshal(value)
	}
	switch {
	case errors.Is(err, instance.ErrRefused):
		return instance.Answer{State: instance.RequestRefused, Error: err.Error()}
	case err != nil:
		return instance.Answer{State: instance.RequestFailed, Error: err.Error()}
	}
	return instance.Answer{State: instance.RequestDone, Value: encoded}
}

// withProgress returns the context of an action that may say how far it is, which is written now and then.
func (w *requestWorker) withProgress(ctx context.Context, id int64) context.Context {
	var last time.Time
	return instance.WithProgress(ctx, func(value any) {
		if time.Since(last) < lookEvery {
			return
		}
		last = time.Now()
		encoded, err := json.Marshal(value)
		if err == nil {
			err = w.requests.Answer(ctx, id, w.self, instance.Answer{State: instance.RequestTaken, Value: encoded})
		}
		if err != nil && ctx.Err() == nil {
			w.logger.Warn("cannot say how far a request is", "request", id, "error", encode.Said(err))
		}
	})
}

// answer writes an answer, again until the database takes it or ctx ends; also after ctx
// has ended it tries once.
func (w *requestWorker) answer(ctx context.Context, id int64, a instance.Answer) {
	for {
		writing, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerTime)
		err := w.requests.Answer(writing, id, w.self, a)
		cancel()
		if w.answers.Tell(ctx, w.logger, err, "request", id, "state", a.State); err == nil {
			return
		}
		if !sleep.For(ctx, lookEvery) {
			return
		}
	}
}

// clean ends requests that no process took, and removes old ones, now and then.
func (w *requestWorker) clean(ctx context.Context) {
	now := time.Now()
	if now.Before(w.cleanAt) {
		return
	}
	w.cleanAt = now.Add(cleanEvery)
	err := w.requests.Expire(ctx, expireAge)
	if err == nil {
		err = w.requests.Forget(ctx, forgetAge)
	}
	w.cleans.Tell(ctx, w.logger, err)
}
