package official

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
)

// KafkaContext are functions of watermill-kafka's package kafka (v3), which read what its
// Subscriber leaves in the context of a message. Partition and Offset are required.
type KafkaContext struct {
	// Partition is kafka.MessagePartitionFromCtx, and Offset kafka.MessagePartitionOffsetFromCtx.
	Partition func(context.Context) (int32, bool)
	Offset    func(context.Context) (int64, bool)
	// Key is kafka.MessageKeyFromCtx: the record's key becomes the order key. Default: none.
	Key func(context.Context) ([]byte, bool)
	// Time is kafka.MessageTimestampFromCtx, for Delivery.Time. Default: none.
	Time func(context.Context) (time.Time, bool)
}

// Kafka returns sub, a Subscriber of watermill-kafka, for consumer.Config.Source. Its messages
// have the place of their record: topic, partition and offset. So a record of a client that
// does not know Watermill, which has no id, has a key (see inbox.DefaultKey). The error names
// a missing function.
//
// The place does not say of which incarnation of a topic it is: after a topic was deleted and
// made again, a record at a place that was handled before is a duplicate of the other one, or
// a dead letter of class conflict. broker/kafka tells them apart. Its places are others for
// that reason: in a move to it, each record must be handled by one of the two only.
//
// Close of the returned Subscriber is that of sub.
func Kafka(sub message.Subscriber, from KafkaContext) (message.Subscriber, error) {
	switch {
	case sub == nil:
		return nil, errors.New("official: the Subscriber is nil")
	case from.Partition == nil:
		return nil, errors.New("official: KafkaContext.Partition is nil: give kafka.MessagePartitionFromCtx")
	case from.Offset == nil:
		return nil, errors.New("official: KafkaContext.Offset is nil: give kafka.MessagePartitionOffsetFromCtx")
	}
	s := &subscriber{Subscriber: sub, from: from}
	if i, ok := sub.(message.SubscribeInitializer); ok {
		return &initializer{s, i}, nil
	}
	return s, nil
}

type subscriber struct {
	message.Subscriber
	from KafkaContext
}

type initializer struct {
	*subscriber
	message.SubscribeInitializer
}

// Subscribe implements message.Subscriber.
func (s *subscriber) Subscribe(ctx context.Context, topic string) (<-chan *message.Message, error) {
	in, err := s.Subscriber.Subscribe(ctx, topic)
	if err != nil {
		return nil, err
	}
	out := make(chan *message.Message)
	go func() { // ends with in, which sub closes when ctx ends or it is closed
		defer close(out)
		for m := range in {
			m.SetContext(headrace.WithArrival(m.Context(), s.arrival(m.Context(), topic)))
			select {
			case out <- m:
			case <-m.Context().Done():
			}
		}
	}()
	return out, nil
}

// arrival is what ctx, the context of a message, says of its record.
func (s *subscriber) arrival(ctx context.Context, topic string) headrace.Arrival {
	a := headrace.ArrivalFrom(ctx)
	partition, known := s.from.Partition(ctx)
	if offset, ok := s.from.Offset(ctx); known && ok {
		a.Coordinates = headrace.Coordinates{
			Broker: "kafka", Topic: topic, Partition: strconv.Itoa(int(partition)), Position: strconv.FormatInt(offset, 10),
		}
	}
	if s.from.Key != nil {
		if key, ok := s.from.Key(ctx); ok {
			a.OrderKey = string(key)
		}
	}
	if s.from.Time != nil {
		if at, ok := s.from.Time(ctx); ok {
			a.Time = at
		}
	}
	return a
}
