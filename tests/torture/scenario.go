//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/headrace/headrace/tests/torture/broker"
	"github.com/headrace/headrace/tests/torture/checker"
	"github.com/headrace/headrace/tests/torture/cluster"
	"github.com/headrace/headrace/tests/torture/history"
	"github.com/headrace/headrace/tests/torture/nemesis"
	"github.com/headrace/headrace/tests/torture/workload"
)

// options are those of a run.
type options struct {
	seed   uint64
	n      int           // least number of messages of a scenario
	kills  int           // how often each crash point is hit
	time   time.Duration // how long a scenario goes on at least
	rate   int           // messages in a second
	dir    string        // of everything that is written
	server *cluster.Cluster
}

// liveTime is within what everything has come to its end after the last fault
// (invariant 16).
const liveTime = 2 * time.Minute

// result is what a scenario gave.
type result struct {
	Name       string            `json:"name"`
	Store      string            `json:"store"`
	Seed       uint64            `json:"seed"`
	Hits       map[string]int    `json:"hits"`
	Sent       int               `json:"sent"`
	Live       float64           `json:"live_s"` // from the last fault to the end of all work
	Good       float64           `json:"good_p99_ms"`
	Violations []checker.Finding `json:"violations,omitempty"`
	Error      string            `json:"error,omitempty"`
	History    string            `json:"history"`
}

func (r result) ok() bool { return len(r.Violations) == 0 && r.Error == "" }

// scenario is one database with the faults that it goes through.
type scenario struct {
	options
	kind   string
	name   string
	faults []nemesis.Fault

	world   *nemesis.World
	watch   *watch
	run     checker.Run
	result  result
	history string
}

// play runs a scenario and checks it. What it finds is in the result.
func play(ctx context.Context, kind, name string, faults []nemesis.Fault, o options) result {
	s := &scenario{options: o, kind: kind, name: name, faults: faults}
	s.result = result{Name: name, Store: kind, Seed: o.seed, Hits: make(map[string]int)}
	if err := s.play(ctx); err != nil {
		s.result.Error = err.Error()
	}
	s.result.History = s.history
	return s.result
}

func (s *scenario) play(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Minute)
	defer cancel()
	dir, err := os.MkdirTemp(s.dir, s.kind+"-"+s.name+"-")
	if err != nil {
		return err
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	s.history = filepath.Join(dir, "history.jsonl")
	log, err := history.Create(s.history)
	if err != nil {
		return err
	}
	s.watch = newWatch(log)
	b, err := broker.Listen(s.watch.events())
	if err != nil {
		return err
	}
	s.world = &nemesis.World{
		Kind: s.kind, Dir: dir, Rand: rand.New(rand.NewPCG(s.seed, 2)), Log: log, Broker: b, Kills: s.kills,
		Generator: workload.NewGenerator(log, b, workload.Mix{Bad: 15, Rate: s.rate}, s.seed),
		Acked:     s.watch.wasAcked, Downstream: s.watch.cameOut, Published: s.watch.published,
	}
	if err := s.database(ctx); err != nil {
		return errors.Join(err, log.Close())
	}
	err = s.work(ctx)
	b.Close()
	if closed := log.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = s.check(ctx)
	}
	s.world.End()
	return err
}

// database makes the scenario's own.
func (s *scenario) database(ctx context.Context) error {
	w := s.world
	if s.kind == "sqlite" {
		w.Path = filepath.Join(w.Dir, "torture.db")
	} else {
		w.Cluster, w.Database = s.server, "torture_"+strings.ReplaceAll(s.name, "-", "_")
		if err := s.server.Create(ctx, w.Database); err != nil {
			return err
		}
		proxy, err := cluster.NewProxy(s.server.Addr())
		if err != nil {
			return err
		}
		w.Proxy = proxy
		w.OnClose(proxy.Close)
	}
	if err := w.Open(ctx, true); err != nil {
		return err
	}
	return workload.CreateTables(ctx, w.System().DB)
}

// work is the scenario from the first message to the last.
func (s *scenario) work(ctx context.Context) error {
	if err := s.world.Start(); err != nil {
		return err
	}
	sending, stopSending := context.WithCancel(ctx)
	defer stopSending()
	sent := make(chan error, 1)
	go func() { sent <- s.world.Generator.Run(sending) }()
	probing, stopProbing := context.WithCancel(ctx)
	defer stopProbing()
	probed := make(chan struct{})
	go func() { defer close(probed); s.watch.probe(probing, s.world, s.pruning()) }()

	start := time.Now()
	err := s.breakThings(ctx)
	for err == nil && ctx.Err() == nil && (s.world.Generator.Count() < s.n || time.Since(start) < s.time) {
		time.Sleep(10 * time.Millisecond)
	}
	stopSending()
	err = errors.Join(err, <-sent)
	if err == nil {
		err = s.settle(ctx)
	}
	stopProbing()
	<-probed
	err = errors.Join(err, s.world.Stop())
	s.result.Sent, s.result.Good = s.world.Generator.Count(), s.watch.p99()
	failures, left := s.world.Failures()
	if len(failures) > 0 {
		err = errors.Join(err, fmt.Errorf("children gave up: %s", strings.Join(failures, "; ")))
	}
	if left > 0 {
		err = errors.Join(err, fmt.Errorf("%d goroutines were left after a consumer had ended (invariant 18)", left))
	}
	return err
}

func (s *scenario) pruning() bool {
	for _, f := range s.faults {
		if f.Prunes {
			return true
		}
	}
	return false
}

// breakThings lets the faults happen, with a quiet time between them.
func (s *scenario) breakThings(ctx context.Context) error {
	s.run.Ordered, s.run.Blameless = true, true
	for i, f := range s.faults {
		if i > 0 {
			time.Sleep(500 * time.Millisecond)
		}
		s.run.Ordered = s.run.Ordered && !f.Disorders
		s.run.Blameless = s.run.Blameless && !f.Blames
		s.run.Pruned = s.run.Pruned || f.Prunes
		s.world.Log.Note(history.Entry{Op: history.Begin, Fault: f.Name, Says: f.Says})
		hits, err := f.Run(ctx, s.world)
		s.world.Log.Note(history.Entry{Op: history.End, Fault: f.Name, N: int64(hits)})
		s.result.Hits[f.Name] = hits
		if err != nil {
			return fmt.Errorf("fault %s: %w", f.Name, err)
		}
		if least := f.Least(s.kills); hits < least {
			return fmt.Errorf("fault %s took effect %d times, of %d", f.Name, hits, least)
		}
	}
	return nil
}

// settle is the liveness phase: nothing breaks any more, and everything comes to its end
// by itself; then a person redrives, and it does again.
func (s *scenario) settle(ctx context.Context) error {
	start := time.Now()
	if err := s.quiet(ctx, start); err != nil {
		return err
	}
	s.result.Live = time.Since(start).Seconds()
	if err := s.world.Redrive(); err != nil {
		return err
	}
	return s.quiet(ctx, time.Now())
}

func (s *scenario) quiet(ctx context.Context, start time.Time) error {
	probe := s.world.Probe()
	for {
		waiting, err := probe.Waiting(ctx)
		pending := s.world.Broker.Pending()
		if err == nil && waiting == 0 && pending == 0 {
			return nil
		}
		if time.Since(start) > liveTime {
			return fmt.Errorf("after %s %d messages are at the source, and %d rows wait in the backlog and the outbox (%v): invariant 16", liveTime, pending, waiting, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func (s *scenario) check(ctx context.Context) error {
	entries, err := history.Read(s.history)
	if err != nil {
		return err
	}
	s.run.Ordered = s.run.Ordered && !s.watch.disordered()
	s.result.Violations, err = checker.Check(ctx, entries, s.world.System(), s.run)
	if err != nil {
		return err
	}
	s.result.Violations = append(s.result.Violations, s.watch.findings(s.world, s.run)...)
	return nil
}
