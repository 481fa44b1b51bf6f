package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/outbox/relay"
)

// perSecond is how many events the part latency commits a second, each in a
// transaction of its own.
const perSecond = 1000

func latencyPart() []benchmark {
	return []benchmark{
		{
			part: "latency", name: "latency", run: runLatency(false),
			says: "headrace: 1k events a second, each committed alone; p50 and p99 from the answer to COMMIT to the call of Publish",
		},
		{
			part: "latency", name: "latency_apart", run: runLatency(true),
			says: "as latency, committed by a program that does not wake the relay",
		},
	}
}

// committed is an event on its way.
type committed struct {
	at        atomic.Int64 // when COMMIT was answered, in ns; 0 before
	published atomic.Int64
}

// metered is a publisher that notes when each event came.
type metered struct {
	events []committed
	number func(*message.Message) (int, error)
	failed atomic.Pointer[error]
	left   atomic.Int64
	all    chan struct{}
}

// Publish implements message.Publisher.
func (p *metered) Publish(_ string, messages ...*message.Message) error {
	now := time.Now().UnixNano()
	for _, m := range messages {
		n, err := p.number(m)
		if err == nil && !p.events[n].published.CompareAndSwap(0, now) {
			err = fmt.Errorf("event %d was published twice", n)
		}
		if err != nil {
			p.failed.Store(&err)
			continue
		}
		if p.left.Add(-1) == 0 {
			close(p.all)
		}
	}
	return nil
}

// Close implements message.Publisher.
func (p *metered) Close() error { return nil }

func runLatency(apart bool) func(context.Context, *lab, amount) (Figure, error) {
	return func(ctx context.Context, l *lab, a amount) (figure Figure, err error) {
		st, err := l.openStore(ctx)
		if err != nil {
			return Figure{}, err
		}
		defer func() { err = errors.Join(err, st.Close()) }()
		writer := st
		if apart { // another store, whose commits this one's relay is not told of
			if writer, err = l.openStore(ctx); err != nil {
				return Figure{}, err
			}
			defer func() { err = errors.Join(err, writer.Close()) }()
		}
		n := a.or(int(perSecond * a.time.Seconds()))
		warm := n / 5
		out := &metered{events: make([]committed, warm+n), number: totalOf, all: make(chan struct{})}
		out.left.Store(int64(warm + n))
		r, err := relay.New(st, out, relay.Options{SinkID: "bench", Logger: l.config.Logger})
		if err != nil {
			return Figure{}, err
		}
		running, stop := context.WithCancel(ctx)
		defer stop()
		ended := make(chan error, 1)
		go func() { ended <- r.Run(running) }()
		if figure, err = l.commitAtRate(ctx, writer, out, warm); err == nil {
			err = l.empty(ctx)
		}
		stop()
		if err := errors.Join(err, <-ended); err != nil {
			return Figure{}, err
		}
		return figure, check(ctx, st)
	}
}

// commitAtRate commits all events, so many a second whatever the database does, and
// waits until they are published. The first warm ones are not measured.
func (l *lab) commitAtRate(ctx context.Context, st opened, out *metered, warm int) (Figure, error) {
	const writers = 16
	var next atomic.Int64
	var failed [writers]error
	var goroutines sync.WaitGroup
	watch := l.startWatch(ctx)
	for w := range writers {
		goroutines.Go(func() {
			for failed[w] == nil && ctx.Err() == nil {
				n := int(next.Add(1)) - 1
				if n >= len(out.events) {
					return
				}
				time.Sleep(time.Until(watch.began.Add(time.Duration(n) * time.Second / perSecond)))
				failed[w] = commitOne(ctx, st, n)
				out.events[n].at.Store(time.Now().UnixNano())
			}
		})
	}
	goroutines.Wait()
	if err := errors.Join(failed[:]...); err != nil {
		return Figure{}, err
	}
	limit := time.NewTimer(waitTimeout)
	defer limit.Stop()
	select {
	case <-out.all:
	case <-ctx.Done():
		return Figure{}, context.Cause(ctx)
	case <-limit.C:
		return Figure{}, fmt.Errorf("verify: %d events were not published in %s", out.left.Load(), waitTimeout)
	}
	if failed := out.failed.Load(); failed != nil {
		return Figure{}, fmt.Errorf("verify: %w", *failed)
	}
	var h histogram
	for i := range out.events[warm:] {
		e := &out.events[warm+i]
		h.add(time.Duration(e.published.Load() - e.at.Load()))
	}
	figure := watch.figure(ctx, len(out.events), &h)
	figure.Messages -= warm
	return figure, nil
}

func commitOne(ctx context.Context, st opened, n int) error {
	id, payload, err := waiting(uint64(n))
	if err != nil {
		return err
	}
	t, err := st.Begin(ctx)
	if err != nil {
		return err
	}
	return st.Commit(ctx, t, []outbox.Row{outbox.RowOf(headrace.Event{ID: id, Topic: invoicesTopic, Payload: payload})})
}
