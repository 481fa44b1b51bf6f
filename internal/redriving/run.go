package redriving

import (
	"context"
	"slices"
	"time"

	"github.com/headrace/headrace/dlq/job"
	"github.com/headrace/headrace/internal/counting"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/outage"
	"github.com/headrace/headrace/internal/sleep"
)

const (
	// lookEvery is how often a process looks for running jobs.
	lookEvery = time.Second
	// busyEvery is the time between two steps of a job if half of its letters under way came to their
	// ends. It is doubled, up to steadyEvery, as long as fewer do, since a step looks at each of
	// them, and up to lookEvery as long as none does.
	busyEvery   = 50 * time.Millisecond
	steadyEvery = 250 * time.Millisecond
	// restEvery is the time between two looks at paused jobs, unless the last one has changed something.
	restEvery = 10 * time.Second
	// stepTime bounds a step.
	stepTime = time.Minute
	// forgetEvery is how often old redrives are removed, and kept how long they are kept.
	forgetEvery = time.Hour
	kept        = 35 * 24 * time.Hour
)

// Run looks for running jobs of the consumer and takes steps of them, until ctx ends.
func (e *Engine) Run(ctx context.Context) {
	var forgotten, rested time.Time
	pause, part := lookEvery, outage.Part{Fails: "a redrive could not go on; it is tried again"}
	old := outage.Part{Fails: "old redrives could not be removed; it is tried again"}
	for {
		rest := time.Since(rested) > restEvery
		most, busy, err := e.steps(ctx, rest)
		if rest && !busy {
			rested = time.Now()
		}
		if part.Tell(ctx, e.Logger, err); err == nil {
			e.Upkeep.Ran("redrive")
		}
		if err == nil && time.Since(forgotten) > forgetEvery {
			forget := e.forget(ctx)
			if old.Tell(ctx, e.Logger, forget); forget == nil {
				forgotten = time.Now()
			}
		}
		pause = min(2*pause, most)
		if !sleep.For(ctx, pause) {
			return
		}
	}
}

// steps takes a step of each running job, and with rest of each paused one. It returns the most time
// until the next ones, and whether a paused one has changed.
func (e *Engine) steps(ctx context.Context, rest bool) (most time.Duration, busy bool, err error) {
	most = lookEvery
	ctx, cancel := context.WithTimeout(ctx, stepTime)
	defer cancel()
	running, paused, err := e.jobs().Due(ctx, e.Consumer)
	if err != nil {
		return most, false, err
	}
	if !rest {
		paused = nil
	}
	for i, id := range slices.Concat(running, paused) {
		taken, err := e.Step(ctx, id)
		if err != nil {
			return most, busy, err
		}
		busy = busy || i >= len(running) && taken.Changed > 0
		switch {
		case taken.Ended > 0 && taken.Ended >= taken.UnderWay, taken.Changed > 0 && taken.UnderWay == 0:
			most = busyEvery
		case taken.Changed > 0:
			most = min(most, steadyEvery)
		}
		if taken.Action == job.Finish {
			e.settleGroups(ctx)
		}
		if taken.Action == job.Pause {
			e.Logger.Warn("a redrive paused by itself", "redrive", job.Name(id), "why", taken.Why)
		}
	}
	return most, busy, nil
}

// settleGroups resolves the groups whose last letters a redrive has ended, so that the person who watches
// it sees that. After an error the loop that counts does it within seconds.
func (e *Engine) settleGroups(ctx context.Context) {
	c := counting.New(e.Store)
	c.Upkeep = e.Upkeep
	err := c.AddUp(ctx)
	if err == nil {
		err = c.Review(ctx)
	}
	if err != nil && ctx.Err() == nil {
		e.Logger.Warn("groups of dead letters could not be counted", "error", encode.Said(err))
	}
}

// forget removes old redrives.
func (e *Engine) forget(ctx context.Context) (err error) {
	for more := true; more && err == nil && ctx.Err() == nil; {
		more, err = e.jobs().Forget(ctx, e.Consumer, kept, batch)
	}
	return err
}
