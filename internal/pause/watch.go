package pause

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/headrace/headrace/internal/breaker"
	"github.com/headrace/headrace/internal/outage"
)

// errAway opens the breaker if the database answers neither a statement nor a ping.
var errAway = errors.New("the database does not answer")

const (
	// readTime bounds a read, and pingTime the ping after one without an answer.
	readTime = 5 * time.Second
	pingTime = 2 * time.Second
	// hangTime bounds both if the driver ignores the context, as lib/pq does.
	hangTime = readTime + pingTime + time.Second
)

// Watch reads a State periodically.
type Watch struct {
	State   *State
	Breaker *breaker.Breaker
	// Ping tests whether the database answers.
	Ping func(ctx context.Context) error
	// Every is the time between two reads.
	Every  time.Duration
	Logger *slog.Logger

	opened bool // this Watch has opened the breaker
	reads  sync.WaitGroup
}

// Run reads until ctx ends: each time one read by primary key, outside of any
// transaction. It returns when the last read has ended.
func (w *Watch) Run(ctx context.Context) {
	defer w.reads.Wait()
	tick := time.NewTicker(w.Every)
	defer tick.Stop()
	part := outage.Part{Fails: "cannot read whether the consumer is paused; the last known state counts"}
	for {
		err := w.read(ctx)
		part.Tell(ctx, w.Logger, err)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// read reads the pause. If that fails, and a ping too, and no other statement succeeded
// meanwhile, it opens the breaker, until the next successful read. It returns
// when there is an answer or the driver gives up, and when ctx ends.
func (w *Watch) read(ctx context.Context) error {
	start, seconds := time.Now(), time.NewTicker(time.Second)
	defer seconds.Stop()
	answer := make(chan error, 1)
	w.reads.Go(func() { answer <- w.ask(ctx) })
	// It counts ticks: a process that was frozen itself misses ticks, and must not blame
	// the database.
	for n := time.Duration(1); ; n++ {
		select {
		case err := <-answer:
			if errors.Is(err, errAway) {
				w.open(ctx, start, err)
			}
			if err == nil && w.opened {
				w.opened = false
				w.Breaker.OK()
			}
			return err
		case <-seconds.C:
			if n*time.Second == hangTime {
				w.open(ctx, start, errAway)
			}
		case <-ctx.Done():
			return nil
		}
	}
}

func (w *Watch) open(ctx context.Context, start time.Time, err error) {
	if ctx.Err() == nil && !w.Breaker.OKSince(start) {
		w.opened = true
		w.Breaker.Fail(err)
	}
}

// ask reads the pause, and pings the database if that fails.
func (w *Watch) ask(ctx context.Context) error {
	bounded, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	err := w.State.Read(bounded)
	if err == nil {
		return nil
	}
	ping, cancel := context.WithTimeout(ctx, pingTime)
	defer cancel()
	if w.Ping(ping) != nil {
		return fmt.Errorf("%w: %w", errAway, err)
	}
	return err
}
