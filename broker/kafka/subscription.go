package kafka

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/headrace/headrace/internal/sleep"
	"github.com/twmb/franz-go/pkg/kerr"
)

// subscription is one call of Subscribe: one session after the other.
type subscription struct {
	source *Source
	topic  string
	out    chan *message.Message
	log    *outage
	member atomic.Pointer[session] // the current one, or the last
}

// open begins a session. source.mu is held.
func (s *subscription) open(values context.Context) (*session, error) {
	o := s.source.options
	member, err := newSession(context.WithoutCancel(values), s.topic, o, o.rebalanceTimeout(s.source.ackWait[s.topic]), s.out, s.log)
	if err == nil {
		s.member.Store(member)
	}
	return member, err
}

// run starts a new session after a topic was made again, until ctx ends, the source
// closes, or the session ends with another error.
func (s *subscription) run(ctx context.Context, member *session) {
	defer close(s.out)
	defer s.source.subs.Remove(s)
	running, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(s.source.closing, stop)()
	for {
		err := member.run(running)
		if err != nil {
			s.log.served.Is(err) // until the next session has its partitions
		}
		member.close()
		s.source.leave(member)
		switch {
		case running.Err() != nil:
			return
		case !errors.Is(err, errRecreated):
			s.log.log.Error("the subscription ends: only a person can fix this error of Kafka", "error", err)
			return
		}
		if !s.madeAgain(running) {
			return
		}
		if member = s.next(running, ctx); member == nil {
			return
		}
	}
}

// goneTimeout is how long a topic may be missing before its subscription ends.
const goneTimeout = 30 * time.Second

// madeAgain waits until the deleted topic exists again; false if it does not before
// goneTimeout has passed, or running ends.
func (s *subscription) madeAgain(running context.Context) bool {
	client, err := s.source.options.asker()
	if err != nil { // these options have made a client before
		s.log.log.Error("the subscription ends", "error", err)
		return false
	}
	defer client.Close()
	var gone time.Time
	for running.Err() == nil {
		_, err := topicID(running, client, s.topic)
		switch {
		case err == nil:
			s.log.log.Warn("the topic was deleted and made again; continuing with its new records")
			return true
		case !errors.Is(err, kerr.UnknownTopicOrPartition): // unknown; ask again
			gone = time.Time{}
		case gone.IsZero():
			gone = time.Now()
			s.log.log.Warn("the topic was deleted; waiting for it to be made again", "timeout", s.source.gone)
		case time.Since(gone) > s.source.gone:
			s.log.log.Error("the subscription ends: the topic was deleted and not made again", "timeout", s.source.gone)
			return false
		}
		sleep.For(running, reopenPause)
	}
	return false
}

// reopenPause is the time between two sessions.
const reopenPause = time.Second

// next begins the next session after a pause; nil if running ends first.
func (s *subscription) next(running, values context.Context) *session {
	sleep.For(running, reopenPause)
	if running.Err() != nil {
		return nil
	}
	s.source.mu.Lock()
	defer s.source.mu.Unlock()
	member, err := s.open(values)
	if err != nil { // these options have made a client before
		s.log.log.Error("the subscription ends", "error", err)
		return nil
	}
	s.source.join(member)
	return member
}
