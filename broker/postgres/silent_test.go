package postgres_test

import (
	"bytes"
	"database/sql"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace/broker/postgres"
	"github.com/headrace/headrace/consumer"
)

// hole is a network that can go silent: connections stay, and nothing comes through.
type hole struct {
	net.Listener
	server string
	silent atomic.Bool
	much   atomic.Bool // it goes silent once much is sent
	ended  chan struct{}

	mu    sync.Mutex
	conns []net.Conn
	wait  sync.WaitGroup
}

func newHole(t *testing.T, server string) *hole {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := &hole{Listener: l, server: server, ended: make(chan struct{})}
	h.wait.Go(h.accept)
	t.Cleanup(func() {
		_ = h.Close()
		close(h.ended)
		h.mu.Lock()
		for _, c := range h.conns {
			_ = c.Close()
		}
		h.mu.Unlock()
		h.wait.Wait()
	})
	return h
}

func (h *hole) accept() {
	for {
		client, err := h.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", h.server)
		if err != nil {
			_ = client.Close()
			continue
		}
		h.mu.Lock()
		h.conns = append(h.conns, client, server)
		h.mu.Unlock()
		h.wait.Go(func() { h.copy(server, client) })
		h.wait.Go(func() { h.copy(client, server) })
	}
}

func (h *hole) copy(to io.WriteCloser, from io.Reader) {
	defer func() { _ = to.Close() }()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if h.much.Load() && n == len(buf) {
			h.silent.Store(true)
		}
		if h.silent.Load() {
			<-h.ended // not even the end of the other side is told
			return
		}
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// logs is a log that may be read while it is written.
type logs struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logs) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// late is when a call counts as hanging: lib/pq would wait for a quarter of an hour.
const late = time.Minute

func inTime(t *testing.T, what string, f func() error) error {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- f() }()
	select {
	case err := <-ended:
		return err
	case <-time.After(late):
		t.Fatalf("%s hangs", what)
		return nil
	}
}

// Fault: the network goes silent. Publish, Subscribe, Check and Close end all the same, with
// sql.Open's lib/pq that waits without end for an answer, and for that of a handshake; and
// what is left behind is named. Guards: ask, subscription.writing.
func TestSilentNetwork(t *testing.T) {
	t.Parallel()
	s := setup(t)
	topic := "hr-silent-" + time.Now().Format("150405.000000")
	h := newHole(t, s.Addr())
	db, err := s.open(h.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	db.SetMaxOpenConns(0) // else all would soon wait for the pool, which heeds a context
	log := new(logs)
	from, err := postgres.NewSource(postgres.SourceOptions{
		DB: db, Schema: schema, Group: group, Lease: time.Second, CloseTimeout: time.Second, Logger: slog.New(slog.NewTextHandler(log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	to, err := postgres.NewSink(postgres.SinkOptions{DB: db, Schema: schema, PublishTimeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	messages, err := from.Subscribe(t.Context(), topic)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := to.Publish(topic, message.NewMessage("", []byte("x"))); err != nil {
			t.Fatal(err)
		}
	}
	held := next(t, messages)
	h.silent.Store(true)
	publishIntoSilence(t, to, topic)
	held.Ack()
	began := time.Now()
	if err := inTime(t, "Source.Close", from.Close); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > 12*time.Second { // the attempts to write alone would take 15 s
		t.Errorf("Source.Close took %s, its CloseTimeout is 1 s", took)
	}
	if _, ok := <-messages; ok {
		t.Error("a message after the end")
	}
	if err := inTime(t, "Check", func() error { return from.Check(t.Context(), topic, consumer.Demands{}) }); err == nil {
		t.Error("Check into silence: nil")
	}
	err = inTime(t, "Sink.Close", to.Close)
	if err == nil || !strings.Contains(err.Error(), "no answer") {
		t.Errorf("Sink.Close says %v of what it left", err)
	}
	if !strings.Contains(log.String(), "no answer") {
		t.Errorf("Source.Close logged nothing of what it left:\n%s", log)
	}
}

// publishIntoSilence publishes on a connection from the pool, and on new ones, whose
// handshake is not answered.
func publishIntoSilence(t *testing.T, to *postgres.Sink, topic string) {
	t.Helper()
	for range 3 {
		err := inTime(t, "Publish", func() error { return to.Publish(topic, message.NewMessage("", []byte("x"))) })
		if err == nil {
			t.Error("Publish into silence: nil")
		}
	}
}

// Fault: the network goes silent. A statement that was sent ends with its connection, which
// lib/pq otherwise keeps, and nothing is left behind; also where it is more than there is
// room to send, so that Publish waits to send it, and the connection's last word with it.
// Guards: line.cut, asking.left, Source.Close, Sink.Close.
func TestSilentNetworkIsCut(t *testing.T) {
	t.Parallel()
	s := setup(t)
	for name, c := range map[string]struct {
		size int
		left bool
	}{"waits for the answer": {1, false}, "waits to send": {32 << 20, true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			topic := "hr-cut-" + time.Now().Format("150405.000000")
			if err := s.Create(t.Context(), topic); err != nil {
				t.Fatal(err)
			}
			h := newHole(t, s.Addr())
			db, err := s.open(h.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = db.Close() })
			to, err := postgres.NewSink(postgres.SinkOptions{DB: db, Schema: schema, PublishTimeout: 3 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			if err := to.Publish(topic, message.NewMessage("", []byte("x"))); err != nil {
				t.Fatal(err)
			}
			h.much.Store(c.left) // lib/pq has the statement parsed before it sends what is much
			h.silent.Store(!c.left)
			m := message.NewMessage("", bytes.Repeat([]byte("x"), c.size))
			if err := inTime(t, "Publish", func() error { return to.Publish(topic, m) }); err == nil || !strings.Contains(err.Error(), "the outcome is unknown") {
				t.Errorf("Publish into silence: %v", err)
			}
			if err := inTime(t, "Close", to.Close); (err != nil) != c.left {
				t.Errorf("Close: %v", err)
			}
		})
	}
}

// A database that cannot be reached is said of the option that names it, at start; without
// what a DSN holds. Guards: once, Source.initialize.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	s := server{"postgres://billing:hunter2@127.0.0.1:1/none?sslmode=disable"}
	db, err := s.open("")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	from, err := postgres.NewSource(postgres.SourceOptions{DB: db, Group: group})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = from.Close() }()
	to, err := postgres.NewSink(postgres.SinkOptions{DB: db})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = to.Close() }()
	_, subscribed := from.Subscribe(t.Context(), "topic")
	for what, err := range map[string]error{
		"Check": from.Check(t.Context(), "topic", consumer.Demands{}), "Subscribe": subscribed,
		"Publish": to.Publish("topic", message.NewMessage("", []byte("x"))),
	} {
		if err == nil || !strings.Contains(err.Error(), "option DB") || strings.Contains(err.Error(), "Create") {
			t.Errorf("%s: %v", what, err)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: the password is in %v", what, err)
		}
	}
}

// The URL of a database may hold a password, also one that cannot be read. Guard:
// withoutURL.
func TestURLIsNotTold(t *testing.T) {
	db, err := sql.Open("postgres", "postgres://billing:hunter%zz2@127.0.0.1:1/none")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	from, err := postgres.NewSource(postgres.SourceOptions{DB: db, Group: group})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = from.Close() }()
	err = from.Check(t.Context(), "topic", consumer.Demands{})
	if err == nil || !strings.Contains(err.Error(), "option DB") || strings.Contains(err.Error(), "hunter") {
		t.Errorf("Check: %v", err)
	}
}

// Tables that are not there are said to be, with who makes them.
func TestNoTables(t *testing.T) {
	t.Parallel()
	s := setup(t)
	db, err := s.open("")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	from, err := postgres.NewSource(postgres.SourceOptions{DB: db, Schema: "headrace_none", Group: group})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = from.Close() }()
	err = from.Check(t.Context(), "topic", consumer.Demands{})
	if err == nil || !strings.Contains(err.Error(), "postgres.Create") || !strings.Contains(err.Error(), "option Schema") {
		t.Errorf("Check: %v", err)
	}
}
