package relay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace/outbox"
)

// ErrOtherSink is the error of Acquire if the relay of the store in this process has
// another sink.
var ErrOtherSink = errors.New("relay: the store is relayed to another sink in this process; give its consumers the same one")

// shared is a running relay with its number of users.
type shared struct {
	relay *Relay
	sink  message.Publisher
	users int
	stop  context.CancelFunc
	done  chan struct{}
	err   error // of Run; read after done
}

// relays are the running relays of this process, by the signal of their store.
var relays = struct {
	mu       sync.Mutex
	open     map[*outbox.Signal]*shared
	stopping map[*outbox.Signal]chan struct{} // closed when the relay that was stopped last has ended
}{open: make(map[*outbox.Signal]*shared), stopping: make(map[*outbox.Signal]chan struct{})}

// Acquire returns the relay of st in this process, for a consumer. It runs from the first
// Acquire to the last release, with the options of the first. The error matches ErrOtherSink if
// the relay has another sink, and ErrOwned if the outbox belongs to other consumers. It waits
// for the database for at most 5 s. If that does not answer, OnStalled may be called with ErrOwned
// later.
//
// Only the last release blocks: it waits until Run has returned or ctx ends, and returns
// the error of Run or ctx. Later calls do nothing.
func Acquire(ctx context.Context, st Store, sink message.Publisher, consumer string, o Options) (r *Relay, release func(ctx context.Context) error, err error) {
	if st == nil || sink == nil {
		return nil, nil, errors.New("relay: the store and the sink are required")
	}
	key := st.Outbox().Signal()
	s, err := enter(st, sink, o, key)
	if err != nil {
		return nil, nil, err
	}
	var once sync.Once
	release = func(ctx context.Context) (err error) {
		once.Do(func() { err = s.release(ctx, key) })
		return err
	}
	if err := s.relay.place.Join(ctx, consumer); err != nil {
		return nil, nil, errors.Join(err, release(context.WithoutCancel(ctx)))
	}
	return s.relay, release, nil
}

// enter adds a user to the relay of the store, and starts one if there is none.
func enter(st Store, sink message.Publisher, o Options, key *outbox.Signal) (s *shared, err error) {
	relays.mu.Lock()
	defer relays.mu.Unlock()
	s = relays.open[key]
	if s == nil {
		if s, err = start(st, sink, o, key); err != nil {
			return nil, err
		}
	} else if !same(s.sink, sink) {
		return nil, fmt.Errorf("%w (%T, %T)", ErrOtherSink, s.sink, sink)
	}
	s.users++
	return s, nil
}

// start runs a relay after the previous one has ended. The last release waits for its
// goroutine.
func start(st Store, sink message.Publisher, o Options, key *outbox.Signal) (*shared, error) {
	o.SinkID = cmp.Or(o.SinkID, known(sink))
	r, err := newRelay(st, sink, nil, o)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	s := &shared{relay: r, sink: sink, stop: stop, done: make(chan struct{})}
	before := relays.stopping[key]
	go func() {
		defer close(s.done)
		if before != nil {
			<-before
		}
		s.err = r.Run(ctx)
	}()
	relays.open[key] = s
	return s, nil
}

func (s *shared) release(ctx context.Context, key *outbox.Signal) error {
	if !s.leave(key) {
		return nil
	}
	select {
	case <-s.done:
	case <-ctx.Done():
		return fmt.Errorf("relay: still stopping: %w", context.Cause(ctx))
	}
	relays.mu.Lock()
	defer relays.mu.Unlock()
	if relays.stopping[key] == s.done {
		delete(relays.stopping, key)
	}
	return s.err
}

// leave reports whether this was the last user.
func (s *shared) leave(key *outbox.Signal) bool {
	relays.mu.Lock()
	defer relays.mu.Unlock()
	if s.users--; s.users > 0 {
		return false
	}
	delete(relays.open, key)
	relays.stopping[key] = s.done
	s.stop()
	return true
}

// same reports whether two sinks are the same; those of a type that cannot be compared are
// different.
func same(a, b message.Publisher) bool {
	return reflect.ValueOf(a).Comparable() && a == b
}
