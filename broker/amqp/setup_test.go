package amqp_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	amqp091 "github.com/rabbitmq/amqp091-go"

	"github.com/headrace/headrace/broker/amqp"
	"github.com/headrace/headrace/broker/brokertest"
)

// waitTimeout bounds every wait: on a loaded machine a broker stands still for many seconds.
const waitTimeout = 90 * time.Second

// bundle is what a test has: the real server, and a queue of its own.
type bundle struct {
	*testing.T
	ctx   context.Context
	url   string
	queue string
	admin *amqp091.Channel // of a plain client
	log   *syncBuffer
}

func setup(t *testing.T) *bundle {
	t.Helper()
	url := variable(t, "HEADRACE_TEST_RABBITMQ")
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	t.Cleanup(cancel)
	b := &bundle{T: t, ctx: ctx, url: url, queue: "t-" + strings.ToLower(rand.Text()), log: &syncBuffer{}}
	b.admin = b.channel()
	return b
}

// variable is an environment variable that says where the server is.
func variable(t *testing.T, name string) string {
	t.Helper()
	return brokertest.Variable(t, name, "rabbitmq")
}

// setupAlone is setup for a test that changes how the server works for everybody.
func setupAlone(t *testing.T) *bundle {
	t.Helper()
	variable(t, "HEADRACE_TEST_RABBITMQ")
	brokertest.Alone(t) // before the time of setup runs
	return setup(t)
}

// change runs Erlang on the server that changes how it works, and undo when t ends. Where
// the test is killed first, the server does undo by itself after some minutes. The
// function that is returned undoes it now.
func (b *bundle) change(change, undo string) func() {
	b.Helper()
	const key = "headrace_test_undo"
	b.ctl("eval", fmt.Sprintf("{ok, T} = timer:apply_after(%d, erlang, apply, [fun() -> %s end, []]), application:set_env(rabbit, %s, T), %s.",
		(5*time.Minute).Milliseconds(), undo, key, change))
	now := sync.OnceFunc(func() {
		b.ctl("eval", fmt.Sprintf("%s, {ok, T} = application:get_env(rabbit, %s), timer:cancel(T).", undo, key))
	})
	b.Cleanup(now)
	return now
}

// channel opens a connection and a channel of a plain client.
func (b *bundle) channel() *amqp091.Channel {
	b.Helper()
	conn, err := amqp091.Dial(b.url)
	b.must(err)
	b.Cleanup(func() { _ = conn.Close() })
	ch, err := conn.Channel()
	b.must(err)
	return ch
}

func (b *bundle) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// declare makes the queue of the test, of that kind.
func (b *bundle) declare(kind amqp.Kind, more amqp091.Table) {
	b.Helper()
	args := amqp091.Table{"x-queue-type": string(kind)}
	for name, value := range more {
		args[name] = value
	}
	_, err := b.admin.QueueDeclare(b.queue, true, false, false, false, args)
	b.must(err)
	b.Cleanup(func() {
		_, _ = b.channel().QueueDelete(b.queue, false, false, false)
	})
}

func (b *bundle) server() amqp.Server {
	return amqp.Server{URL: b.url, Timeout: waitTimeout, Logger: slog.New(slog.NewTextHandler(b.log, nil))}
}

func (b *bundle) source(o amqp.SourceOptions) *amqp.Source {
	b.Helper()
	if o.URL == "" {
		o.Server = b.server()
	}
	s, err := amqp.NewSource(o)
	b.must(err)
	b.Cleanup(func() { _ = s.Close() })
	return s
}

func (b *bundle) sink(o amqp.SinkOptions) *amqp.Sink {
	b.Helper()
	if o.URL == "" {
		o.Server = b.server()
	}
	if o.ConfirmTimeout == 0 {
		o.ConfirmTimeout = waitTimeout
	}
	s, err := amqp.NewSink(o)
	b.must(err)
	b.Cleanup(func() { _ = s.Close() })
	return s
}

func (b *bundle) subscribe(s *amqp.Source) <-chan *message.Message {
	b.Helper()
	messages, err := s.Subscribe(b.ctx, b.queue)
	b.must(err)
	return messages
}

// send publishes with the plain client, and waits for the confirmation.
func (b *bundle) send(p amqp091.Publishing) {
	b.Helper()
	ch := b.channel()
	b.must(ch.Confirm(false))
	c, err := ch.PublishWithDeferredConfirm("", b.queue, true, false, p)
	b.must(err)
	if !c.Wait() {
		b.Fatal("the broker refuses the test's message")
	}
}

// next is the next message; nil where the subscription has ended.
func (b *bundle) next(messages <-chan *message.Message) *message.Message {
	b.Helper()
	select {
	case m := <-messages:
		return m
	case <-time.After(waitTimeout):
		b.Fatalf("no message; the log says:\n%s", b.log.String())
		return nil
	}
}

// left waits until the queue holds n messages that were not delivered.
func (b *bundle) left(n int) {
	b.Helper()
	b.eventually("messages in the queue", func() bool {
		q, err := b.admin.QueueDeclarePassive(b.queue, true, false, false, false, nil)
		b.must(err)
		return q.Messages == n
	})
}

// eventually asks what only the broker knows, and does not tell.
func (b *bundle) eventually(what string, f func() bool) {
	b.Helper()
	for end := time.Now().Add(waitTimeout); !f(); {
		if time.Now().After(end) {
			b.Fatalf("in vain: %s; the log says:\n%s", what, b.log.String())
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// ctl runs rabbitmqctl on the server.
func (b *bundle) ctl(args ...string) string {
	b.Helper()
	variable(b.T, "HEADRACE_TEST_RABBITMQ_CTL")
	out, err := ctl(b.ctx, args...)
	if err != nil {
		b.Fatalf("rabbitmqctl %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// tool runs one of Debian's amqp-tools: a client that is neither ours nor in Go.
func (b *bundle) tool(name string, args ...string) string {
	b.Helper()
	path := foreignTool(b.T, name)
	out, err := exec.CommandContext(b.ctx, path, append([]string{"--url=" + strings.TrimSuffix(b.url, "/")}, args...)...).CombinedOutput()
	if err != nil {
		b.Fatalf("%s: %v\n%s", name, err, out)
	}
	return string(out)
}

// foreignTool is the path of one of Debian's amqp-tools.
func foreignTool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("%s is missing: apt-get install amqp-tools", name)
		}
		t.Skipf("%s is missing: apt-get install amqp-tools", name)
	}
	return path
}

// syncBuffer is a log that a test reads while it is written.
type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write implements io.Writer.
func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.String()
}
