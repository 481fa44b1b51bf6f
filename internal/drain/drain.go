package drain

import (
	"context"
	"sync"
	"time"
)

// Drain drains a Line. Run may be called again after it has returned, not concurrently.
type Drain struct {
	line Line
	o    Options
}

// New returns a Drain of line that does not run yet.
func New(line Line, o Options) *Drain { return &Drain{line: line, o: o.withDefaults()} }

// Run drains until ctx ends, and returns when every Work and Poll under way has
// returned.
func (d *Drain) Run(ctx context.Context) {
	r := &run{
		Options: d.o,
		line:    d.line,
		jobs:    make(chan job),
		results: make(chan outcome),
		asks:    make(chan []int64, 1),
		answers: make(chan answer),
		shards:  newShards(d.o),
		pace:    newPace(d.o),
		health:  health{report: d.o.OnState},
	}
	var goroutines sync.WaitGroup
	for range d.o.Workers {
		goroutines.Go(func() { r.worker(ctx) })
	}
	goroutines.Go(func() { r.poller(ctx) })
	r.coordinate(ctx)
	close(r.jobs)
	close(r.asks)
	goroutines.Wait()
}

// run is the state of Run. Its fields belong to the goroutine of coordinate; the others
// only use the channels.
type run struct {
	Options
	line    Line
	jobs    chan job
	results chan outcome
	asks    chan []int64
	answers chan answer
	shards  *shards
	pace    *pace
	health  health
}

type job struct {
	shard int
	after int64
}

type outcome struct {
	job
	Result
	took time.Duration
	err  error
}

type answer struct {
	Polled
	took time.Duration
	err  error
}

func (r *run) worker(ctx context.Context) {
	for j := range r.jobs {
		start := time.Now()
		result, err := r.line.Work(ctx, j.shard, j.after)
		select {
		case r.results <- outcome{j, result, time.Since(start), err}:
		case <-ctx.Done(): // coordinate has ended
		}
	}
}

func (r *run) poller(ctx context.Context) {
	for marks := range r.asks {
		start := time.Now()
		polled, err := r.line.Poll(ctx, marks)
		select {
		case r.answers <- answer{polled, time.Since(start), err}:
		case <-ctx.Done():
		}
	}
}

// coordinate distributes the work until ctx ends.
func (r *run) coordinate(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		now := time.Now()
		r.ask(now)
		if at, ok := r.pollAt(); ok {
			timer.Reset(max(at.Sub(now), 0))
		} else {
			timer.Stop()
		}
		next, ok := r.shards.next()
		jobs := r.jobs
		if !ok {
			jobs = nil
		}
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-r.Wake:
			r.pace.wake()
		case jobs <- next:
			r.shards.started(next)
		case o := <-r.results:
			r.finished(ctx, o)
		case a := <-r.answers:
			r.answered(ctx, a)
		}
	}
}

// ask starts a poll if one is due.
func (r *run) ask(now time.Time) {
	at, ok := r.pollAt()
	if !ok || at.After(now) {
		return
	}
	r.asks <- r.shards.marks(now)
	r.pace.asked()
}

// pollAt returns when to poll next; false if a poll is under way or every shard is being
// worked on.
func (r *run) pollAt() (time.Time, bool) {
	if r.pace.asking || r.shards.idle() == 0 {
		return time.Time{}, false
	}
	return r.pace.next(len(r.shards.queue) > 0, r.shards.restEnds()), true
}

func (r *run) answered(ctx context.Context, a answer) {
	if ctx.Err() != nil {
		return
	}
	now := time.Now()
	r.health.learn(pollFails, a.err)
	if a.err != nil {
		r.pace.failed(now)
		return
	}
	r.pace.answered(now, a.Next)
	r.shards.found(a, now)
	r.health.settle(a.Shards)
}

func (r *run) finished(ctx context.Context, o outcome) {
	if ctx.Err() != nil {
		return
	}
	r.health.learn(o.shard, o.err)
	r.shards.finished(o, time.Now())
	if o.err == nil && o.Rows > 0 {
		r.pace.active()
	}
}
