package redis_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	goredis "github.com/redis/go-redis/v9"

	"github.com/headrace/headrace/broker/brokertest"
	"github.com/headrace/headrace/broker/redis"
)

// waitTimeout bounds each wait for what must happen: machines may be slow.
const waitTimeout = time.Minute

// variable says where Redis is: host:port.
const variable = "HEADRACE_TEST_REDIS"

func newClient(addr string) *goredis.Client { return goredis.NewClient(&goredis.Options{Addr: addr}) }

// cli runs redis-cli, the foreign client, and returns what it says. Its last argument is
// read from stdin, which takes any bytes.
func cli(ctx context.Context, addr string, args ...string) (string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", err
	}
	last := args[len(args)-1]
	cmd := exec.CommandContext(ctx, "redis-cli", append([]string{"-h", host, "-p", port, "-x"}, args[:len(args)-1]...)...)
	cmd.Stdin = strings.NewReader(last)
	out, err := cmd.CombinedOutput()
	if text := strings.TrimSpace(string(out)); err != nil || strings.HasPrefix(text, "ERR") || strings.HasPrefix(text, "WRONG") {
		return "", fmt.Errorf("redis-cli: %v: %s", err, text)
	} else {
		return text, nil
	}
}

// hook looks at the single commands of a client; one that before has an error for is not
// sent.
type hook struct {
	before func(goredis.Cmder) error
	after  func(goredis.Cmder)
}

func (h hook) DialHook(next goredis.DialHook) goredis.DialHook { return next }

func (h hook) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		if h.before != nil {
			if err := h.before(cmd); err != nil {
				cmd.SetErr(err)
				return err
			}
		}
		err := next(ctx, cmd)
		if h.after != nil {
			h.after(cmd)
		}
		return err
	}
}

func (h hook) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return next
}

// bundle is a stream of the test's own.
type bundle struct {
	*testing.T
	addr   string
	client *goredis.Client
	topic  string
}

var streams atomic.Int64

func newStream(t *testing.T) *bundle {
	t.Helper()
	b := &bundle{T: t, addr: brokertest.Variable(t, variable, "redis")}
	b.topic = fmt.Sprintf("t%d-%d", os.Getpid(), streams.Add(1))
	b.client = newClient(b.addr)
	t.Cleanup(func() {
		b.client.Del(context.Background(), b.topic)
		_ = b.client.Close()
	})
	return b
}

func (b *bundle) source(o redis.SourceOptions) *redis.Source {
	b.Helper()
	if o.Client == nil {
		o.Client = b.client
	}
	if o.Group == "" {
		o.Group = "group"
	}
	if o.ClaimAfter == 0 {
		o.ClaimAfter = 3 * time.Second
	}
	o.ClaimEvery, o.Block = 50*time.Millisecond, 50*time.Millisecond
	s, err := redis.NewSource(o)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	return s
}

func (b *bundle) subscribe(s *redis.Source) <-chan *message.Message {
	b.Helper()
	messages, err := s.Subscribe(b.Context(), b.topic)
	if err != nil {
		b.Fatal(err)
	}
	return messages
}

// add adds an entry with redis-cli: names and values by turns.
func (b *bundle) add(fields ...string) string {
	b.Helper()
	id, err := cli(b.Context(), b.addr, append([]string{"XADD", b.topic, "*"}, fields...)...)
	if err != nil {
		b.Fatal(err)
	}
	return id
}

func (b *bundle) next(messages <-chan *message.Message) *message.Message {
	b.Helper()
	select {
	case m, ok := <-messages:
		if !ok {
			b.Fatal("the subscription has ended")
		}
		return m
	case <-time.After(waitTimeout):
		b.Fatal("no message came")
	}
	return nil
}

// none says that no message comes for d: the only way to see that something does not happen
// on a server.
func (b *bundle) none(messages <-chan *message.Message, d time.Duration) {
	b.Helper()
	select {
	case m := <-messages:
		b.Fatalf("a message came: %q", m.Payload)
	case <-time.After(d):
	}
}

// left is how many entries the group has not acknowledged.
func left(ctx context.Context, client *goredis.Client, stream, group string) (int, error) {
	groups, err := client.XInfoGroups(ctx, stream).Result()
	if err != nil {
		return 0, err
	}
	for _, g := range groups {
		if g.Name == group {
			rest, err := client.XRange(ctx, stream, "("+g.LastDeliveredID, "+").Result()
			return int(g.Pending) + len(rest), err
		}
	}
	n, err := client.XLen(ctx, stream).Result()
	return int(n), err
}

// emptied waits until the group has acknowledged everything.
func (b *bundle) emptied() {
	b.Helper()
	for end := time.Now().Add(waitTimeout); ; time.Sleep(10 * time.Millisecond) {
		n, err := left(b.Context(), b.client, b.topic, "group")
		if err != nil {
			b.Fatal(err)
		}
		if n == 0 {
			return
		}
		if time.Now().After(end) {
			b.Fatalf("%d entries are left", n)
		}
	}
}
