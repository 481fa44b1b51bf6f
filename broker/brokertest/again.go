package brokertest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/Shopify/toxiproxy/v2"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/internal/fault"
)

// givenAgain cuts the connection of a process while its handler runs. The broker takes
// the process for dead and gives the message to the other process, while the handler
// still runs (faults 40, 44, 54 and 57; TRAPS, kafka: two owners). The effect exists
// once, and afterwards each process alone handles new messages.
func givenAgain(s *bundle) {
	release := make(chan struct{})
	free := sync.OnceFunc(func() { close(release) })
	s.Cleanup(free)
	var first sync.Once
	entered := make(chan *holder, 1)
	both := [2]*holder{}
	for i := range both {
		h := &holder{proxy: s.proxy(), received: make(chan struct{})}
		h.worker = s.work(h.proxy.Listen, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
			first.Do(func() {
				entered <- h
				<-release // whatever happens to ctx: some handlers ignore it
			})
			return apply(ctx, tx, m)
		}, onReceive(h.received))
		both[i] = h
	}
	s.sendNumbers(1, 1)
	var cut *holder
	select {
	case cut = <-entered:
	case <-time.After(waitTimeout):
		s.Fatal("no handler is run")
	}
	other := both[0]
	if other == cut {
		other = both[1]
	}
	mend := s.harm(cut.proxy, "reset_peer")
	defer mend()
	select {
	case <-other.received:
	case <-time.After(waitTimeout):
		s.Fatal("the broker does not give the message to the other process")
	}
	free()
	s.eventually("the effect", func() (string, bool) { return "none", s.count("SELECT count(*) FROM effects") > 0 })
	mend()
	s.appliedOnce(1)
	s.sendNumbers(2, 5)
	s.appliedOnce(5)
	other.worker.halt()
	s.sendNumbers(6, 9)
	s.appliedOnce(9)
	s.undecodable(0)
	s.Logf("the one that was cut off: %+v", cut.worker.c.Stats())
	s.Logf("the other one: %+v", other.worker.c.Stats())
}

// removed removes the topic under a consumer and creates it again. Either the consumer
// continues, or its Run returns that the subscription ended and the next consumer
// continues. It must not run on without messages (TRAPS, Router: one ended subscription
// is silent).
func removed(s *bundle) {
	w := s.work("", apply)
	s.sendNumbers(1, 3)
	s.appliedOnce(3)
	ctx, cancel := s.bounded()
	defer cancel()
	if err := s.f.Delete(ctx, s.topic); err != nil {
		s.Fatalf("delete the topic: %v", err)
	}
	s.create(s.topic)
	s.sendNumbers(4, 6)
	deadline := time.After(waitTimeout)
	for s.count("SELECT count(DISTINCT n) FROM effects") < 6 {
		select {
		case <-w.done:
			if !errors.Is(w.err, consumer.ErrSubscriptionEnded) {
				s.Fatalf("Run: %v", w.err)
			}
			s.Logf("Run: %v", w.err)
			w.err = nil
			w = s.work("", apply)
		case <-deadline:
			s.Fatal("the consumer neither goes on nor says that its subscription ended")
		case <-time.After(20 * time.Millisecond):
		}
	}
	s.appliedOnce(6)
	s.undecodable(0)
}

// holder is a worker with its own connection.
type holder struct {
	worker   *worker
	proxy    *toxiproxy.Proxy
	received chan struct{} // closed when it gets the first message
}

// onReceive closes received at the first message.
func onReceive(received chan<- struct{}) option {
	var once sync.Once
	return func(c *consumer.Config) {
		c.Source = fault.Subscriber(c.Source, func(at fault.Point) error {
			if at == fault.AfterReceive {
				once.Do(func() { close(received) })
			}
			return nil
		})
	}
}
