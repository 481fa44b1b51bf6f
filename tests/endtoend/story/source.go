package story

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/examples/orders/billing"
)

const (
	// maxInFlight is how many webhooks are handed out and not acknowledged, and maxBytes how many bytes of
	// payload they have together; a larger webhook goes alone.
	maxInFlight = 256
	maxBytes    = 64 << 20
	// visibility is how long a webhook may stay unacknowledged before it is handed out again.
	visibility = time.Minute
	// pause is how long one that was given back stays here.
	pause = 100 * time.Millisecond
)

// source is a Watermill Subscriber over a stream of webhooks, for one subscription. It does what a broker does:
// many webhooks are in flight at once; one that is given back or not acknowledged in time is handed out again;
// and what another run left unacknowledged is handed out by this one. Each is in the journal before it is
// handed out.
type source struct {
	stream  stream
	journal *journal
	log     *slog.Logger

	incoming chan webhook
	out      chan *message.Message
	events   chan event
	orphans  chan string   // runs to take over
	drained  chan struct{} // closed when the stream has ended and everything was acknowledged
	closing  chan struct{}
	shut     sync.Once
	pump     sync.WaitGroup
	room     *room

	handedOut, acknowledged atomic.Int64 // deliveries, for the progress only
	failed                  atomic.Pointer[error]
}

// newSource returns a source that hands out, before the stream, what the runs in orphans had in flight.
func newSource(s stream, j *journal, orphans []string) *source {
	src := &source{
		stream: s, journal: j, log: slog.Default(), room: newRoom(maxInFlight, maxBytes),
		incoming: make(chan webhook, maxInFlight), out: make(chan *message.Message), events: make(chan event, maxInFlight),
		orphans: make(chan string, 64+len(orphans)), drained: make(chan struct{}), closing: make(chan struct{}),
	}
	for _, run := range orphans {
		src.orphans <- run
	}
	return src
}

// Subscribe implements message.Subscriber. It is called once.
func (s *source) Subscribe(ctx context.Context, _ string) (<-chan *message.Message, error) {
	reading, stop := context.WithCancel(ctx)
	go s.read(reading) // not waited for: a read of the standard input ends with its writer
	p := &pump{source: s, inFlight: make(map[int64]*flight), done: make(map[int64]bool)}
	s.pump.Go(func() {
		defer stop()
		p.run(ctx)
	})
	return s.out, nil
}

// Close implements message.Subscriber. It returns when what was acknowledged is in the journal, and may be
// called again.
func (s *source) Close() error {
	s.shut.Do(func() { close(s.closing) })
	s.pump.Wait()
	return nil
}

// err is why the stream ended before its end; nil if it did not.
func (s *source) err() error {
	if err := s.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// takeOver hands out what another run had in flight. It does not block.
func (s *source) takeOver(run string) {
	select {
	case s.orphans <- run:
	default: // asked for again later
	}
}

// read brings the stream to the pump as fast as there is room.
func (s *source) read(ctx context.Context) {
	defer close(s.incoming)
	for {
		w, err := s.stream.next(ctx)
		if err != nil {
			if !errors.Is(err, io.EOF) && ctx.Err() == nil {
				s.failed.Store(&err)
			}
			return
		}
		if !s.room.take(ctx, len(w.Payload)) {
			return
		}
		s.incoming <- w // has room for all
	}
}

// delivered is what the consumer makes of a webhook, as far as its identity goes.
func (w webhook) delivered() *headrace.Delivery {
	return &headrace.Delivery{ID: w.ID, Payload: w.Payload, Metadata: w.metadata(), Coordinates: w.At}
}

// metadata is the headers, and the order key where there is one.
func (w webhook) metadata() map[string]string {
	m := maps.Clone(w.Headers)
	if m == nil {
		m = make(map[string]string)
	}
	if w.OrderKey != "" {
		m[billing.OrderKeyHeader] = w.OrderKey
	}
	return m
}
