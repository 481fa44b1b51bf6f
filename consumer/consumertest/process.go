package consumertest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/internal/crashguard"
	"github.com/headrace/headrace/internal/fault"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/store"
)

// Wire builds a consumer as the program does: consumer.New, and then the handlers. The
// kit calls it for each process that it starts, also after a crash. So Wire must create
// everything that a process has in memory.
type Wire func(p *Process) (*consumer.Consumer, error)

// Process is what a Wire gets instead of the real database, broker and logger.
type Process struct {
	// Store is for consumer.New or consumer.Attach.
	Store store.Store
	// Source is for Config.Source and consumer.From, or for a Router's handlers: the
	// kit's broker. It delivers the test's messages, after a crash again.
	Source message.Subscriber
	// Sink is for Config.Sink: it keeps published messages for Kit.Published.
	Sink message.Publisher
	// Logger is for Config.Logger: it writes into the test's log.
	Logger *slog.Logger
	// DB is the database for statements outside of the Store, like Kit.DB.
	DB *sql.DB
	// Beside is for programs with several consumers: those that Wire does not return, made
	// with the same Store. They run in the process too and crash with it, Settle waits for
	// their work, and the Kit's methods see their handlers. Default: none.
	Beside []*consumer.Consumer
	// Server is what the process serves, for Kit.Post: the mux with the endpoints of its
	// webhook.Source. Default: none.
	Server http.Handler
	// Run runs the process until ctx ends. Default: consumer.Run of them all. With
	// consumer.Attach, set it to the Router's Run.
	Run func(ctx context.Context) error
}

// errCrashed is the error of every call of a crashed process.
var errCrashed = errors.New("consumertest: the process has crashed")

// hurry is how many times faster instances beat: a process is known to be dead after one
// second instead of twelve.
const hurry = 12

// process is a consumer on its own store.
type process struct {
	k    *Kit
	n    int // from 1, over all processes of the test
	slot int
	st   openStore
	all  []*consumer.Consumer // the first is Wire's
	run  func(context.Context) error
	http http.Handler // what it serves; may be nil

	soft       context.Context
	stop       context.CancelFunc
	gone       context.Context // ends when Run has returned
	leave      context.CancelFunc
	goroutines sync.WaitGroup
	// acks has one entry for each acknowledgement that reached AfterAck.
	acks chan struct{}

	// Guarded by Kit.mu.
	dead   bool     // crashed
	topics []string // with a subscription at the kit's broker
	// lines are the consumers with local handlers, and whether each has subscribed.
	lines    map[string]bool
	leases   []backlog.Lease
	memos    []ledger.Memo
	instance string
}

// boot starts a process in slot.
func (k *Kit) boot(slot int) error {
	k.mu.Lock()
	k.count++
	p := &process{k: k, n: k.count, slot: slot, acks: make(chan struct{}, 1<<16)}
	k.mu.Unlock()
	p.soft, p.stop = context.WithCancel(context.WithValue(context.Background(), clockKey{}, k))
	p.gone, p.leave = context.WithCancel(context.Background())
	if err := p.wire(); err != nil {
		p.stop()
		p.leave()
		if p.st != nil {
			err = errors.Join(err, p.st.Close())
		}
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.slots[slot] = p
	if k.stopping {
		p.stop()
	}
	k.supervisors.Go(func() { k.supervise(p) })
	return nil
}

// wire calls the user's Wire.
func (p *process) wire() error {
	k := p.k
	var err error
	if p.st, err = k.place.open(p.soft, false); err != nil {
		return fmt.Errorf("open the database for process %d: %w", p.n, err)
	}
	outside := &Process{
		Store: &watched{fault.Store(&clock{Store: p.st, p: p}, p.at), k}, Source: fault.Subscriber(source{k.broker, p}, p.at),
		Sink: fault.Publisher(&sink{p}, p.at), Logger: p.logger(), DB: k.place.db,
	}
	c, err := k.wire(outside)
	if err != nil {
		return fmt.Errorf("wire process %d: %w", p.n, err)
	}
	p.all = append([]*consumer.Consumer{c}, outside.Beside...)
	if slices.Contains(p.all, nil) {
		return fmt.Errorf("wire process %d: the function returned no consumer, or Process.Beside holds nil", p.n)
	}
	p.run, p.http = outside.Run, outside.Server
	if p.run == nil {
		p.run = func(ctx context.Context) error { return consumer.Run(ctx, p.all...) }
	}
	p.lines = make(map[string]bool)
	shared := crashguard.NewProcess()
	for _, c := range p.all {
		rt := c.Runtime()
		rt.Intercept(p.intercept)
		rt.Hurry(hurry)
		rt.Process = shared
		for _, h := range rt.Handlers() {
			if s, ok := h.Source.(scheduled); ok {
				s.TakeFrom(outside.Source)
			}
		}
		if len(rt.Local()) > 0 {
			p.lines[c.Name()] = false
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.consumers = p.all
	return nil
}

// wake has the consumers of p look at the backlog now, instead of within a second.
func (p *process) wake() {
	for _, c := range p.all {
		p.st.Backlog().Signals.Wake(c.Name())
	}
}

// supervise runs p to its end, and starts the next process if p crashed.
func (k *Kit) supervise(p *process) {
	err := p.run(p.soft)
	p.stop()
	p.leave()
	p.goroutines.Wait()
	if closed := p.st.Close(); closed != nil {
		err = errors.Join(err, closed)
	}
	k.mu.Lock()
	dead, stopping := p.dead, k.stopping
	k.mu.Unlock()
	if dead {
		err = k.release(p)
	}
	k.broker.lose(p)
	switch {
	case err == nil && dead && !stopping:
		k.story.add("process %d follows on the same database", k.peek())
		err = k.boot(p.slot)
	case err == nil && !stopping:
		err = fmt.Errorf("process %d ended before the test stopped it", p.n)
	}
	if err != nil {
		k.mu.Lock()
		k.failed = errors.Join(k.failed, err)
		k.mu.Unlock()
		k.story.add("process %d ended: %v", p.n, err)
	}
	k.pulse.beat()
}

func (k *Kit) peek() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.count + 1
}

// crashTimeout bounds the work after a crash.
const crashTimeout = 10 * time.Second

// release ends the leases of a dead process, and what it has of memos, at once. Other processes see it as silent for
// long (see clock).
func (k *Kit) release(p *process) error {
	k.mu.Lock()
	leases, memos := p.leases, p.memos
	k.deadInstances[p.instance] = true
	k.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), crashTimeout)
	defer cancel()
	st := k.place.kit
	for _, m := range memos {
		if err := st.Operations().Memos.Release(ctx, m); err != nil {
			return fmt.Errorf("end the calls of process %d: %w", p.n, err)
		}
	}
	if len(leases) == 0 {
		return nil
	}
	t, err := st.Begin(ctx)
	if err != nil {
		return fmt.Errorf("end the leases of process %d: %w", p.n, err)
	}
	defer t.Rollback()
	if _, _, err := st.Backlog().Leases.Extend(ctx, t, leases, soon); err != nil {
		return fmt.Errorf("end the leases of process %d: %w", p.n, err)
	}
	if err := st.Commit(ctx, t, nil); err != nil {
		return fmt.Errorf("end the leases of process %d: %w", p.n, err)
	}
	return nil
}

// logger writes into the test's log, until the process is dead.
func (p *process) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(logWriter{p}, &slog.HandlerOptions{
		Level: slog.LevelWarn,
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey && len(groups) == 0 {
				return slog.Attr{}
			}
			return a
		},
	}))
}

type logWriter struct{ p *process }

// Write implements io.Writer.
func (w logWriter) Write(line []byte) (int, error) {
	k := w.p.k
	k.mu.Lock()
	silent := w.p.dead || k.ended
	k.mu.Unlock()
	if !silent {
		k.t.Logf("process %d: %s", w.p.n, trimmed(line))
	}
	return len(line), nil
}
