package nats

import (
	"context"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// repetition is a record that the stream did not store, because it had stored another one
// with its Nats-Msg-Id.
type repetition struct {
	record *natsgo.Msg
	ack    *jetstream.PubAck
}

// repeated handles records that the stream reported as duplicates. It remembers ids
// longer than messages, which may have been purged or consumed in between. If the message
// is gone, it is published again, without an id, and the inbox of a consumer removes
// duplicates.
func (s *Sink) repeated(topic string, had []repetition) error {
	if len(had) == 0 {
		return nil
	}
	gone := s.gone(had)
	s.o.logger().Info("the NATS stream had messages already", "topic", topic, "stream", had[0].ack.Stream,
		"messages", len(had), "published_again", len(gone))
	ctx, cancel := context.WithTimeout(context.Background(), s.o.PublishTimeout)
	defer cancel()
	for _, r := range gone {
		record := natsgo.NewMsg(r.record.Subject)
		record.Data = r.record.Data
		for name, values := range r.record.Header {
			if name != natsgo.MsgIdHdr {
				record.Header[name] = values
			}
		}
		if _, err := s.link.js.PublishMsg(ctx, record); err != nil {
			return err
		}
	}
	return nil
}

// gone returns those of had whose first copy is no longer in the stream, or may not be:
// the credentials may allow publishing but not reading.
func (s *Sink) gone(had []repetition) (gone []repetition) {
	if s.o.UnsafeUnchecked {
		return had
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.o.PublishTimeout)
	defer cancel()
	st, err := s.link.js.Stream(ctx, had[0].ack.Stream)
	if err != nil {
		return had
	}
	state := st.CachedInfo().State
	for _, r := range had {
		there := r.ack.Sequence >= state.FirstSeq && r.ack.Sequence <= state.LastSeq
		if there && state.NumDeleted > 0 {
			_, err := st.GetMsg(ctx, r.ack.Sequence)
			there = err == nil
		}
		if !there {
			gone = append(gone, r)
		}
	}
	return gone
}
