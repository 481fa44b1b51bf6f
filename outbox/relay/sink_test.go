package relay_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/ThreeDotsLabs/watermill/message"
)

var errRefused = errors.New("refused by the sink")

// fakeSink is a Publisher that fails on command. A fake, because no broker refuses
// the message that a test names, at the moment that it names; everything else here
// is real. Like Watermill's own publishers it stops at the first message of a call
// that fails.
type fakeSink struct {
	board *board

	mu   sync.Mutex
	took []publication
	seen map[string]int // how often a message came
	// refuse returns the error for a message; nil takes it. It is called with mu held.
	refuse func(topic, id string) error
	// hold returns a channel that Publish waits for before it looks at a message.
	hold func(topic, id string) <-chan struct{}
	// heeds says that it stops waiting when the message's context ends.
	heeds bool
	// write is called with each message before it is looked at.
	write func(id string) error
	// calls counts calls of Publish, most holds the largest number of messages in one.
	calls, most int
	latest      context.Context // of the message given last
}

type publication struct {
	topic, id string
	payload   string
	metadata  message.Metadata
	ctx       context.Context
}

func (s *fakeSink) Publish(topic string, msgs ...*message.Message) error {
	defer s.board.note()
	s.mu.Lock()
	s.calls++
	s.most = max(s.most, len(msgs))
	s.latest = msgs[0].Context()
	hold, heeds, write := s.hold, s.heeds, s.write
	s.mu.Unlock()
	for _, m := range msgs {
		if hold != nil {
			if c := hold(topic, m.UUID); c != nil {
				var ended <-chan struct{}
				if heeds {
					ended = m.Context().Done()
				}
				select {
				case <-c:
				case <-ended:
					return m.Context().Err()
				}
			}
		}
		if write != nil {
			if err := write(m.UUID); err != nil {
				return err
			}
		}
		if err := s.take(topic, m); err != nil {
			return err
		}
	}
	return nil
}

func (s *fakeSink) take(topic string, m *message.Message) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen == nil {
		s.seen = make(map[string]int)
	}
	s.seen[m.UUID]++
	if s.refuse != nil {
		if err := s.refuse(topic, m.UUID); err != nil {
			return err
		}
	}
	s.took = append(s.took, publication{
		topic: topic, id: m.UUID, payload: string(m.Payload), metadata: maps.Clone(m.Metadata), ctx: m.Context(),
	})
	// A Publisher may change the metadata; the next publish must not show it.
	m.Metadata["seen"] = "yes"
	return nil
}

func (s *fakeSink) Close() error { return nil }

// refusing sets what is refused.
func (s *fakeSink) refusing(f func(topic, id string) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = f
}

// only refuses the messages with these ids.
func only(ids ...string) func(topic, id string) error {
	return func(_, id string) error {
		if slices.Contains(ids, id) {
			return errRefused
		}
		return nil
	}
}

func everything(string, string) error { return errRefused }

// all returns everything that was taken, in that order.
func (s *fakeSink) all() []publication {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.took)
}

// ids returns the ids of what was taken of a topic, each at its first appearance.
func (s *fakeSink) ids(topic string) []string {
	var ids []string
	seen := map[string]bool{}
	for _, p := range s.all() {
		if p.topic == topic && !seen[p.id] {
			seen[p.id] = true
			ids = append(ids, p.id)
		}
	}
	return ids
}

// times returns how often a message was taken.
func (s *fakeSink) times(id string) int {
	n := 0
	for _, p := range s.all() {
		if p.id == id {
			n++
		}
	}
	return n
}

// tries is how often a message came; refuse may call it.
func (s *fakeSink) tries(id string) int { return s.seen[id] }

func (s *fakeSink) called() (calls, most int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls, s.most
}

func (s *fakeSink) context() context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.latest
}
