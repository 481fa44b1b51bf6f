package kafka

import (
	"context"
	"errors"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
)

// subscription is one call of Subscribe: session after session.
type subscription struct {
	source *Source
	topic  string
	out    chan *message.Message
	log    *outage
}

// open begins a session. source.mu is held.
func (s *subscription) open(values context.Context) (*session, error) {
	o := s.source.options
	return newSession(context.WithoutCancel(values), s.topic, o, o.rebalanceTimeout(s.source.hold[s.topic]), s.out, s.log)
}

// run goes on with a new session where a topic was made again, until ctx ends, the source
// closes, or there is nothing to go on with.
func (s *subscription) run(ctx context.Context, member *session) {
	defer close(s.out)
	running, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(s.source.closing, stop)()
	for {
		err := member.run(running)
		member.close()
		s.source.leave(member)
		switch {
		case running.Err() != nil:
			return
		case !errors.Is(err, errRecreated):
			s.log.log.Error("the subscription ends: Kafka says what only a person can mend", "error", err)
			return
		}
		s.log.log.Warn("the topic was deleted and made again; going on with its new records")
		if member = s.next(running, ctx); member == nil {
			return
		}
	}
}

// reopenPause is the time between two sessions.
const reopenPause = time.Second

// next begins the next session after a pause; nil if running ends before.
func (s *subscription) next(running, values context.Context) *session {
	timer := time.NewTimer(reopenPause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-running.Done():
		return nil
	}
	s.source.mu.Lock()
	defer s.source.mu.Unlock()
	member, err := s.open(values)
	if err != nil { // it made one of the same options before
		s.log.log.Error("the subscription ends", "error", err)
		return nil
	}
	s.source.join(member)
	return member
}
