package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
)

// restarting is what a child process consumes that may be killed. What it is given is
// what a broker would give it: first what was given before and not acknowledged, then
// what is new.
type restarting struct {
	Consumer string   `json:"consumer"`
	InFlight int      `json:"in_flight"`
	Again    []uint64 `json:"again"` // the numbers of the messages that come again
	Next     uint64   `json:"next"`  // the number of the first new one
}

// killPart measures what a process does after the one before it was killed.
func killPart() []benchmark {
	const says = "headrace: as single, in a process of its own, for twice -seconds; p50, p99 and client time of its whole life"
	return []benchmark{
		{part: "after_kill", name: "normal", says: says, run: runAfterKill(false)},
		{
			part: "after_kill", name: "after_kill", says: says + "; from the restart after a kill -9",
			run: runAfterKill(true), against: []string{"normal"}, with: []string{"normal"},
		},
	}
}

// runAfterKill measures a child process that consumes: after a warm-up, or from its start,
// after another one was killed when it had warmed up.
func runAfterKill(kill bool) func(context.Context, *lab, amount) (Figure, error) {
	return func(ctx context.Context, l *lab, a amount) (Figure, error) {
		// Of a name that no other benchmark has: what remembers the death must not hold
		// those up.
		r := restarting{Consumer: "billing-" + strings.ToLower(rand.Text()), InFlight: 256}
		p, err := l.startRestarting(r)
		if err != nil {
			return Figure{}, err
		}
		defer p.kill()
		if err := l.warmUp(ctx, a, p); err != nil {
			return Figure{}, err
		}
		if kill {
			p.kill()
			if r.Again, r.Next, err = l.unapplied(ctx); err != nil {
				return Figure{}, err
			}
		}
		before, err := l.count(ctx, "count_invoices")
		if err != nil {
			return Figure{}, err
		}
		watch := l.startWatch(ctx)
		if kill {
			second, err := l.startRestarting(r)
			if err != nil {
				return Figure{}, err
			}
			defer second.kill()
			p = second
		}
		after, err := l.awaitInvoices(ctx, p, before+a.messages, 2*a.time)
		if err != nil {
			return Figure{}, err
		}
		figure := watch.figure(ctx, a.or(after-before), new(histogram))
		child, err := p.stop(ctx)
		if err != nil {
			return Figure{}, err
		}
		figure.P50, figure.P99, figure.ClientCPU, figure.Allocated = child.P50, child.P99, child.ClientCPU, child.Allocated
		return figure, l.verify(ctx, "count_headrace", int(r.Next)+child.Messages-len(r.Again))
	}
}

func (l *lab) startRestarting(r restarting) (*process, error) {
	return startProcess(assignment{Work: "restarting", DSN: l.dsn, Restarting: &r})
}

// warmUp waits until p has begun, and for a fifth of what is measured.
func (l *lab) warmUp(ctx context.Context, a amount, p *process) error {
	if _, err := l.awaitInvoices(ctx, p, max(a.messages/5, 1), 0); err != nil {
		return fmt.Errorf("warm up: %w", err)
	}
	if a.time > 0 {
		if _, err := l.awaitInvoices(ctx, p, 0, a.time/5); err != nil {
			return fmt.Errorf("warm up: %w", err)
		}
	}
	return nil
}

// awaitInvoices waits for that long, or, where that is 0, until there are so many effects;
// it returns how many there are.
func (l *lab) awaitInvoices(ctx context.Context, p *process, least int, long time.Duration) (int, error) {
	const pause = 5 * time.Millisecond
	limit := time.Now().Add(waitTimeout)
	for {
		wait := pause
		if long > 0 {
			wait = long
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-p.ended:
			timer.Stop()
			return 0, errors.Join(errAbandoned, p.err)
		case <-ctx.Done():
			timer.Stop()
			return 0, context.Cause(ctx)
		}
		n, err := l.count(ctx, "count_invoices")
		switch {
		case err != nil || long > 0 || n >= least:
			return n, err
		case time.Now().After(limit):
			return n, fmt.Errorf("%d effects after %s, want %d", n, waitTimeout, least)
		}
	}
}

// unapplied returns the messages without an effect below the highest that has one, and
// the number after that. A broker that hands over in order gives those again; what was
// on its way above the highest is as good as new.
func (l *lab) unapplied(ctx context.Context) (again []uint64, next uint64, err error) {
	rows, err := l.db.QueryContext(ctx, l.query("invoiced_orders"))
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	found := make(map[string]bool)
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, 0, err
		}
		found[id] = true
	}
	if err := rows.Err(); err != nil {
		return nil, 0, err
	}
	for left := len(found); left > 0; next++ {
		if found[uuid(next)] {
			left--
		} else {
			again = append(again, next)
		}
	}
	return again, next, nil
}

// childRestarting consumes until its standard input ends, and counts what it was given.
func (l *lab) childRestarting(ctx context.Context, r restarting) (figure Figure, err error) {
	wanted, stop := untilInputEnds(ctx)
	defer stop()
	src := newSource(r.InFlight, func(n uint64) *message.Message {
		if again := uint64(len(r.Again)); n >= again {
			return newMessage(r.Next + n - again)
		}
		return newMessage(r.Again[n])
	})
	err = l.consume(ctx, consumption{
		name: r.Consumer, src: src, register: l.invoices,
		drive: func(ctx context.Context, abandoned <-chan struct{}) error {
			var h histogram
			watch := l.startWatch(ctx)
			_, err := src.feed(wanted, 0, &h, abandoned)
			figure = watch.figure(ctx, src.delivered(), &h)
			return err
		},
	})
	return figure, err
}
