package routed

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace/internal/chain"
)

var errBoom = errors.New("boom")

func through(_ context.Context, m *message.Message, next message.HandlerFunc) ([]*message.Message, error) {
	return next(m)
}

// TRAPS, Nack: one message was delivered 587,788 times in a second. The outermost
// middleware pauses, the others do not.
func TestOnlyTheOutermostPauses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		outer := Frame{Stage: chain.Retry, Pause: time.Second}.Middleware(
			func(ctx context.Context, m *message.Message, next message.HandlerFunc) ([]*message.Message, error) {
				return next(Copy(ctx, m))
			})
		inner := Frame{Stage: chain.Inbox, Pause: time.Hour}.Middleware(through)
		start := time.Now()
		if _, err := outer(inner(func(*message.Message) ([]*message.Message, error) { return nil, errBoom }))(message.NewMessage("1", nil)); err != errBoom {
			t.Errorf("error %v", err)
		}
		if took := time.Since(start); took != time.Second {
			t.Errorf("paused %s", took)
		}
		if _, err := outer(inner(func(*message.Message) ([]*message.Message, error) { return nil, nil }))(message.NewMessage("2", nil)); err != nil {
			t.Error(err)
		}
		if took := time.Since(start); took != time.Second {
			t.Errorf("a message without an error was held up for %s", took-time.Second)
		}
	})
}

// A Router that is closed is not held up.
func TestThePauseEndsWithTheMessagesContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		m := message.NewMessageWithContext(ctx, "1", nil)
		time.AfterFunc(time.Minute, cancel)
		start := time.Now()
		_, _ = Frame{Stage: chain.Inbox, Pause: time.Hour}.Middleware(through)(func(*message.Message) ([]*message.Message, error) { return nil, errBoom })(m)
		if took := time.Since(start); took != time.Minute {
			t.Errorf("paused %s", took)
		}
	})
}

// After runtime.Goexit the Router neither acknowledges nor gives back.
func TestGoexitGivesBack(t *testing.T) {
	t.Parallel()
	m := message.NewMessage("1", nil)
	h := Frame{Stage: chain.Inbox, Pause: time.Millisecond}.Middleware(through)(func(*message.Message) ([]*message.Message, error) {
		runtime.Goexit()
		return nil, nil
	})
	go func() { _, _ = h(m) }()
	<-m.Nacked()
}

func TestCopySharesNothing(t *testing.T) {
	t.Parallel()
	m := message.NewMessage("1", []byte("abc"))
	m.Metadata.Set("k", "v")
	c := Copy(t.Context(), m)
	c.Payload[0], c.UUID = 'x', "2"
	c.Metadata.Set("k", "w")
	c.Ack()
	if string(m.Payload) != "abc" || m.Metadata.Get("k") != "v" || m.UUID != "1" {
		t.Errorf("the original is %q %v", m.Payload, m.Metadata)
	}
	select {
	case <-m.Acked():
		t.Error("the original was acknowledged")
	default:
	}
}
