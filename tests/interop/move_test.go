package interop

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/store/sqlite"
)

// move replaces two processes of a program that uses the official adapter, one after the
// other, by two of a headrace consumer, while messages are sent. Each message must be
// handled by one of the programs, and have one effect of the new one at most. What
// docs/adopt.md says about moving is tried here.
type move struct {
	*testing.T
	topic string
	send  message.Publisher
	// before makes a process of the old program, after one of the new one.
	before func() message.Subscriber
	after  func() message.Subscriber
	// prepare, if it is set, is called while the old processes work; they all end then, before the
	// first new one starts: the move is not a rolling one.
	prepare func()
	// sources, if it is set, gives the sources of a new process instead of after.
	sources func() []message.Subscriber
	// sendNext, if it is set, sends from when only new processes run.
	sendNext message.Publisher

	mu  sync.Mutex
	old map[int]int
	n   int // sent so far
}

// some is how many messages a stage waits for.
const some = 40

func newMove(t *testing.T) *move {
	return &move{T: t, topic: "move-" + strings.ToLower(watermill.NewShortUUID()), old: make(map[int]int)}
}

func (m *move) run() {
	ctx, cancel := context.WithTimeout(m.Context(), runTimeout)
	defer cancel()
	st := must[*sqlite.Store](m.T)(sqlite.Open(ctx, filepath.Join(m.TempDir(), "move.db"), sqlite.Options{Migrate: true}))
	defer st.Close()
	if _, err := st.DB().ExecContext(ctx, "CREATE TABLE effects (n INTEGER)"); err != nil {
		m.Fatal(err)
	}
	stopA, stopB := m.startOld(ctx), m.startOld(ctx)
	var sender sync.WaitGroup
	sending, stopSending := context.WithCancel(ctx)
	defer func() { stopSending(); sender.Wait() }()
	sender.Go(func() { m.sendAll(sending) })
	m.await(ctx, "the old program works", func() bool { return m.countOld() >= some })
	if m.prepare != nil {
		m.prepare()
		stopB()
		stopB = func() {}
	}
	stopA()
	endC := m.startNew(ctx, st)
	m.await(ctx, "the first new process works", func() bool { return m.countNew(ctx, st) >= some })
	stopB()
	endD := m.startNew(ctx, st)
	m.awaitSome(ctx, st)
	if m.sendNext != nil {
		m.mu.Lock()
		m.send = m.sendNext
		m.mu.Unlock()
		m.awaitSome(ctx, st)
	}
	stopSending()
	sender.Wait()
	m.await(ctx, "every message is handled", func() bool { return len(m.unhandled(ctx, st)) == 0 })
	endC()
	endD()
	m.check(ctx, st)
}

// awaitSome waits until the new program has handled some more.
func (m *move) awaitSome(ctx context.Context, st *sqlite.Store) {
	now := m.countNew(ctx, st)
	m.await(ctx, "the new processes work", func() bool { return m.countNew(ctx, st) >= now+some })
}

// startOld starts a process of the old program, and returns what ends it.
func (m *move) startOld(ctx context.Context) func() {
	sub := m.before()
	messages, err := sub.Subscribe(ctx, m.topic)
	if err != nil {
		m.Fatal(err)
	}
	var done sync.WaitGroup
	done.Go(func() {
		for msg := range messages {
			var n int
			_, _ = fmt.Sscanf(string(msg.Payload), `{"n":%d}`, &n)
			m.mu.Lock()
			m.old[n]++
			m.mu.Unlock()
			msg.Ack()
		}
	})
	return func() {
		if err := sub.Close(); err != nil {
			m.Logf("close the official subscriber: %v", err)
		}
		done.Wait()
	}
}

// startNew starts a process of the new program, and returns what ends it.
func (m *move) startNew(ctx context.Context, st *sqlite.Store) func() {
	sources := []message.Subscriber{nil}
	if m.sources != nil {
		sources = m.sources()
	} else {
		sources[0] = m.after()
	}
	c := must[*consumer.Consumer](m.T)(consumer.New("billing", st, consumer.Config{}))
	for i, source := range sources {
		consumer.Handle(c, m.topic, func(ctx context.Context, tx *headrace.Tx, msg *headrace.Message[number]) error {
			_, err := tx.ExecContext(ctx, "INSERT INTO effects VALUES ($1)", msg.Body.N)
			return err
		}, consumer.From(source), consumer.Name(fmt.Sprint("billing-", i)))
	}
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- c.Run(running) }()
	var once sync.Once
	end := func() {
		once.Do(func() {
			stop()
			if err := <-ended; err != nil {
				m.Errorf("the consumer: %v", err)
			}
			for _, source := range sources {
				if err := source.Close(); err != nil && !errors.Is(err, context.Canceled) {
					m.Logf("close: %v", err)
				}
			}
		})
	}
	m.Cleanup(end)
	return end
}

// sendAll sends numbers until ctx ends.
func (m *move) sendAll(ctx context.Context) {
	for tick := time.Tick(5 * time.Millisecond); ctx.Err() == nil; <-tick {
		m.mu.Lock()
		n, send := m.n, m.send
		m.mu.Unlock()
		if err := send.Publish(m.topic, message.NewMessage(fmt.Sprintf("message-%05d", n), fmt.Appendf(nil, `{"n":%d}`, n))); err != nil {
			m.Errorf("send %d: %v", n, err)
			return
		}
		m.mu.Lock()
		m.n++
		m.mu.Unlock()
	}
}

func (m *move) countOld() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.old)
}

func (m *move) countNew(ctx context.Context, st *sqlite.Store) int { return len(m.effects(ctx, st)) }

// effects returns how often the new program handled each number.
func (m *move) effects(ctx context.Context, st *sqlite.Store) map[int]int {
	rows, err := st.DB().QueryContext(ctx, "SELECT n, count(*) FROM effects GROUP BY n")
	if err != nil {
		m.Fatal(err)
	}
	defer rows.Close()
	all := make(map[int]int)
	for rows.Next() {
		var n, times int
		if err := rows.Scan(&n, &times); err != nil {
			m.Fatal(err)
		}
		all[n] = times
	}
	if err := rows.Err(); err != nil {
		m.Fatal(err)
	}
	return all
}

// unhandled returns what neither program has handled.
func (m *move) unhandled(ctx context.Context, st *sqlite.Store) []int {
	effects := m.effects(ctx, st)
	m.mu.Lock()
	defer m.mu.Unlock()
	var missing []int
	for n := range m.n {
		if m.old[n] == 0 && effects[n] == 0 {
			missing = append(missing, n)
		}
	}
	return missing
}

// check fails where the new program applied a message twice, and tells what both handled.
func (m *move) check(ctx context.Context, st *sqlite.Store) {
	effects := m.effects(ctx, st)
	both := 0
	for n, times := range effects {
		if times != 1 {
			m.Errorf("message %d has %d effects of the new program", n, times)
		}
		if m.old[n] > 0 {
			both++
		}
	}
	// A message that the old program had in hand as it ended may come again.
	if both > some {
		m.Errorf("%d messages were handled by both programs, want the few that were in flight", both)
	}
	m.Logf("%d messages: %d by the old program, %d by the new one, %d by both", m.n, len(m.old), len(effects), both)
}

func (m *move) await(ctx context.Context, what string, holds func() bool) {
	m.Helper()
	for tick := time.Tick(20 * time.Millisecond); !holds(); {
		select {
		case <-tick:
		case <-ctx.Done():
			m.Fatalf("not seen in time: %s (%d sent, %d by the old program)", what, m.n, m.countOld())
		}
	}
}
