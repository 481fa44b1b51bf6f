//go:build unix

package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/headrace/headrace/tests/torture/broker"
	"github.com/headrace/headrace/tests/torture/checker"
	"github.com/headrace/headrace/tests/torture/history"
	"github.com/headrace/headrace/tests/torture/nemesis"
	"github.com/headrace/headrace/tests/torture/workload"
)

// watch sees what passes by the source and the sink, and asks the database beside it.
type watch struct {
	log *history.Log

	mu       sync.Mutex
	acked    map[string]bool
	out      map[string]bool
	fresh    []string        // acknowledged, and not looked up yet
	took     []time.Duration // of good messages, from their sending to their acknowledgement
	began    map[string]time.Time
	silent   int // sessions that ended with their process alive
	torn     int
	unknown  []string
	sessions int
	oldest   time.Duration
	looks    int
}

func newWatch(log *history.Log) *watch {
	return &watch{log: log, acked: make(map[string]bool), out: make(map[string]bool), began: make(map[string]time.Time)}
}

func (w *watch) events() broker.Events {
	note := func(op history.Op) func(broker.Message) {
		return func(m broker.Message) { w.log.Note(history.Entry{Op: op, ID: m.ID, Topic: m.Topic, N: m.N}) }
	}
	return broker.Events{
		Given: w.given, Nacked: note(history.Nack), Expired: note(history.Expired),
		Acked: func(m broker.Message) {
			note(history.Ack)(m)
			w.mu.Lock()
			defer w.mu.Unlock()
			if !w.acked[m.ID] {
				w.acked[m.ID] = true
				w.fresh = append(w.fresh, m.ID)
				if at, ok := w.began[m.ID]; ok && string(m.Metadata["kind"]) == string(workload.Good) {
					w.took = append(w.took, time.Since(at))
				}
			}
		},
		Published: func(m broker.Message) {
			metadata := workload.Strings(m.Metadata)
			w.log.Note(history.Entry{
				Op: history.Published, ID: m.ID, Topic: m.Topic, N: m.N,
				Cause: workload.Cause(m.Metadata), Sum: workload.Sum(m.Payload, metadata),
			})
			w.mu.Lock()
			defer w.mu.Unlock()
			w.out[m.ID] = true
		},
		Silent: func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.silent++
		},
	}
}

func (w *watch) given(m broker.Message) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, known := w.began[m.ID]; !known {
		w.began[m.ID] = time.Now()
	}
}

func (w *watch) wasAcked(id string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.acked[id]
}

func (w *watch) cameOut(id string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out[id]
}

func (w *watch) published() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.out)
}

// disordered reports whether the source took keys away from a process that may live.
func (w *watch) disordered() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.silent > 0
}

// p99 is that of good messages, in milliseconds.
func (w *watch) p99() float64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.took) == 0 {
		return 0
	}
	slices.Sort(w.took)
	return float64(w.took[len(w.took)*99/100].Microseconds()) / 1000
}

// probe asks, over and over, whether what was acknowledged is known (invariant 5),
// whether effects and records agree in one snapshot (3), and what the children hold (18).
func (w *watch) probe(ctx context.Context, world *nemesis.World, pruned bool) {
	for tick := time.NewTicker(200 * time.Millisecond); ; {
		select {
		case <-ctx.Done():
			tick.Stop()
			return
		case <-tick.C:
		}
		own, cancel := context.WithTimeout(ctx, 5*time.Second)
		w.look(own, world, pruned)
		cancel()
	}
}

func (w *watch) look(ctx context.Context, world *nemesis.World, pruned bool) {
	w.mu.Lock()
	fresh := w.fresh
	w.fresh = nil
	w.mu.Unlock()
	probe := world.Probe()
	for i, id := range fresh {
		known, err := probe.Known(ctx, id)
		if err != nil { // it is down: later
			w.mu.Lock()
			w.fresh = append(w.fresh, fresh[i:]...)
			w.mu.Unlock()
			return
		}
		if !known && !pruned {
			w.wrong(&w.unknown, id)
		}
	}
	if torn, err := probe.Torn(ctx); err == nil && !pruned {
		w.mu.Lock()
		w.torn += torn
		w.looks++
		w.mu.Unlock()
	}
	if n, oldest, err := probe.Sessions(ctx); err == nil {
		w.mu.Lock()
		w.sessions, w.oldest = max(w.sessions, n), max(w.oldest, oldest)
		w.mu.Unlock()
	}
}

func (w *watch) wrong(list *[]string, id string) {
	w.log.Note(history.Entry{Op: history.Wrong, ID: id, Says: "acknowledged without a record"})
	w.mu.Lock()
	defer w.mu.Unlock()
	*list = append(*list, id)
}

// findings are what the probes saw.
func (w *watch) findings(world *nemesis.World, r checker.Run) (found []checker.Finding) {
	w.mu.Lock()
	defer w.mu.Unlock()
	add := func(bad bool, rule, says string, count int, examples ...string) {
		if bad {
			found = append(found, checker.Finding{Rule: rule, Says: says, Count: count, Examples: examples})
		}
	}
	add(len(w.unknown) > 0, "05 probe", "What was acknowledged has a record at that moment.", len(w.unknown), w.unknown[:min(len(w.unknown), 5)]...)
	add(w.torn > 0, "03 probe", "Effects and records agree in every snapshot.", w.torn)
	if world.Kind == "postgres" && r.Blameless { // cut connections live on for a while
		most := (nemesis.Children + 2) * workload.MaxConns // a killed one's may still be there
		add(w.sessions > most, "18 connections", fmt.Sprintf("No more than %d connections.", most), w.sessions)
		add(w.oldest > maxAge, "18 transactions", fmt.Sprintf("No transaction is older than %s.", maxAge), 1, w.oldest.String())
	}
	add(world.Broker.Most() > workload.Window, "18 in flight", "No more messages in hand than the window.", world.Broker.Most())
	return found
}

// maxAge is how old a transaction of a child may become: its handlers' time, and what a
// stopped one is given.
const maxAge = workload.HandlerTimeout + 12*time.Second
