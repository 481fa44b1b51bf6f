package pause

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/headrace/headrace/internal/breaker"
	"github.com/headrace/headrace/internal/encode"
)

// errHangs opens the breaker if the database neither rejects nor answers statements.
var errHangs = errors.New("the database does not answer")

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
	failing := false
	for {
		err := w.read(ctx)
		if err != nil && ctx.Err() == nil && !failing {
			w.Logger.Warn("cannot read whether the consumer is paused; the last known state counts", "error", encode.Said(err))
		}
		failing = err != nil
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// read reads the pause. If neither it nor a ping gets an answer, and no other statement
// got one meanwhile, it opens the breaker, until the next successful read. It returns
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
			if errors.Is(err, errHangs) {
				w.open(ctx, start, err)
			}
			if err == nil && w.opened {
				w.opened = false
				w.Breaker.OK()
			}
			return err
		case <-seconds.C:
			if n*time.Second == hangTime {
				w.open(ctx, start, errHangs)
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

// ask reads the pause, and pings the database if that takes too long.
func (w *Watch) ask(ctx context.Context) error {
	bounded, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	err := w.State.Read(bounded)
	if err == nil || bounded.Err() == nil {
		return err
	}
	ping, cancel := context.WithTimeout(ctx, pingTime)
	defer cancel()
	if down := w.Ping(ping); down != nil && ping.Err() != nil {
		return fmt.Errorf("%w: %w", errHangs, err)
	}
	return err
}
