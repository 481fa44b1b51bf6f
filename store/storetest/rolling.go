package storetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/headrace/headrace"
	pipeline "github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/internal/memsource"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store"
)

// Release is a database that this build and newer ones use.
type Release struct {
	// Open opens the database as this build does. The test ends with its end.
	Open func() (store.Store, error)
	// Migrate applies further migrations, as a newer build does: name of the file to text.
	Migrate func(files map[string]string) error
	// Index is the text of a migration that makes an index while the tables are in use.
	Index string
}

// Rolling shows that this build runs on the schema of a newer one that says so: a migration
// that only adds something disturbs no message, a process starts on what it left, and a
// migration that this build cannot read stops it with an error that says so.
func Rolling(t *testing.T, r Release) {
	p := startProcess(t, r)
	p.handle(30)
	added := map[string]string{
		"0002_column.sql": "ALTER TABLE {{schema}}.headrace_inbox ADD COLUMN added integer;\nUPDATE {{schema}}.headrace_meta SET version = 2;\n",
		"0003_index.sql":  r.Index,
	}
	if err := r.Migrate(added); err != nil {
		t.Fatal(err)
	}
	p.handle(30)
	p.stop()

	p = startProcess(t, r)
	p.handle(30)
	added["0004_contract.sql"] = "UPDATE {{schema}}.headrace_meta SET version = 4, readable_from = 4;\n"
	if err := r.Migrate(added); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-p.ended:
		if !errors.Is(err, store.ErrSchema) {
			t.Errorf("left behind: %v", err)
		}
	case <-time.After(time.Minute):
		t.Error("a process that was left behind goes on")
	}
	p.halt()
	if _, err := r.Open(); !errors.Is(err, store.ErrSchema) {
		t.Errorf("open: %v", err)
	}
}

// process runs a consumer of this build under load.
type process struct {
	t       *testing.T
	st      store.Store
	c       *pipeline.Consumer
	handled atomic.Int64
	more    chan struct{}
	ended   chan error
	halt    context.CancelFunc
	load    sync.WaitGroup
}

func startProcess(t *testing.T, r Release) *process {
	t.Helper()
	st, err := r.Open()
	if err != nil {
		t.Fatal(err)
	}
	src := memsource.New()
	p := &process{t: t, st: st, more: make(chan struct{}, 1), ended: make(chan error, 1)}
	p.c, err = pipeline.New("billing", st, pipeline.Config{
		Source: src, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Retry: retry.Policy{MaxAttempts: 5, Backoff: retry.Backoff{Initial: time.Millisecond, Max: time.Millisecond, Factor: 1}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var keys sync.Map
	pipeline.Handle(p.c, "orders", func(_ context.Context, _ *headrace.Tx, m *headrace.Message[int]) error {
		if _, again := keys.LoadOrStore(m.Key, true); !again && m.Body%3 == 0 {
			return errors.New("the first run fails") // so that the backlog has work
		}
		p.handled.Add(1)
		select {
		case p.more <- struct{}{}:
		default:
		}
		return nil
	})
	p.c.Runtime().Hurry(50)
	ctx, cancel := context.WithCancel(t.Context())
	p.halt = cancel
	go func() { p.ended <- p.c.Run(ctx) }()
	t.Cleanup(func() { cancel(); p.load.Wait() })
	for worker := range 4 {
		p.load.Go(func() { p.deliver(ctx, src, worker) })
	}
	return p
}

// deliver delivers one message after the other.
func (p *process) deliver(ctx context.Context, src *memsource.Source, worker int) {
	for n := 0; ctx.Err() == nil; n++ {
		key := fmt.Sprintf("%p-%d-%d", p, worker, n)
		m := src.Deliver("orders", key, fmt.Append(nil, n), nil)
		acked, err := memsource.Outcome(ctx, m)
		if err == nil && !acked && p.c.Alive() == nil && ctx.Err() == nil {
			p.t.Errorf("%s was given back", key)
		}
		if err != nil || !acked {
			return
		}
	}
}

// handle waits until n more messages were handled.
func (p *process) handle(n int64) {
	p.t.Helper()
	for until := p.handled.Load() + n; p.handled.Load() < until; {
		select {
		case <-p.more:
		case err := <-p.ended:
			p.t.Fatalf("the consumer ended: %v", err)
		case <-time.After(time.Minute):
			p.t.Fatal("no message is handled any more")
		}
	}
	if err := p.c.Ready(); err != nil {
		p.t.Errorf("not ready: %v", err)
	}
}

// stop ends the consumer in order, and checks that no message died.
func (p *process) stop() {
	p.t.Helper()
	p.halt()
	if err := <-p.ended; err != nil {
		p.t.Error(err)
	}
	if dead := p.c.Stats().Dead + p.c.Stats().BacklogDead; dead != 0 {
		p.t.Errorf("%d messages died", dead)
	}
	report, err := p.st.(store.Checker).Check(p.t.Context())
	if err != nil || !report.OK() {
		p.t.Errorf("check: %+v, %v", report, err)
	}
}
