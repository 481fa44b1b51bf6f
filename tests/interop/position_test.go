package interop

import (
	"context"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/IBM/sarama"
	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill-kafka/v3/pkg/kafka"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/store/sqlite"
)

// withPosition gives a record its place, which the official adapter keeps in the context of
// the message: a record that Watermill did not write has no id, so that it has no key
// otherwise.
func withPosition(topic string) message.SubscriberDecorator {
	return message.MessageTransformSubscriberDecorator(func(m *message.Message) {
		partition, _ := kafka.MessagePartitionFromCtx(m.Context())
		offset, _ := kafka.MessagePartitionOffsetFromCtx(m.Context())
		m.SetContext(headrace.WithArrival(m.Context(), headrace.Arrival{Coordinates: headrace.Coordinates{
			Broker: "kafka", Topic: topic, Partition: strconv.Itoa(int(partition)), Position: strconv.FormatInt(offset, 10),
		}}))
	})
}

// TestForeignRecords: records of another client, without an id, through the official
// adapter: each is applied once, two with equal bytes too.
func TestForeignRecords(t *testing.T) {
	b := kafkaBroker(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	name := strings.ToLower(watermill.NewShortUUID())
	s := story{T: t, b: b, in: "in-" + name, out: "out-" + name}
	s.topic(s.in, "billing")
	s.topic(s.out, "reader")
	config := sarama.NewConfig()
	config.Producer.Return.Successes = true
	producer := must[sarama.SyncProducer](t)(sarama.NewSyncProducer([]string{address(t, "kafka")}, config))
	s.close(producer)
	for n := range sent {
		for range 2 { // two orders that say the same
			record := &sarama.ProducerMessage{Topic: s.in, Value: sarama.StringEncoder(`{"n":` + strconv.Itoa(n) + `}`)}
			if _, _, err := producer.SendMessage(record); err != nil {
				t.Fatal(err)
			}
		}
	}
	st := must[*sqlite.Store](t)(sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "interop.db"), sqlite.Options{Migrate: true}))
	s.close(st)
	if _, err := st.DB().ExecContext(t.Context(), "CREATE TABLE effects (n INTEGER, shop TEXT)"); err != nil {
		t.Fatal(err)
	}
	source := must[message.Subscriber](t)(withPosition(s.in)(b.official.subscriber(t, "billing")))
	sink := b.ours.publisher(t)
	s.close(source)
	s.close(sink)
	events := must[<-chan *message.Message](t)(s.closing(b.official.subscriber(t, "reader")).Subscribe(t.Context(), s.out))
	ctx, stop := s.consume(ctx, st, source, sink)
	for range 2 * sent {
		select {
		case m := <-events:
			m.Ack()
		case <-ctx.Done():
			t.Fatalf("an event is missing: %v", context.Cause(ctx))
		}
	}
	stop()
	var effects int
	if err := st.DB().QueryRowContext(t.Context(), "SELECT count(*) FROM effects").Scan(&effects); err != nil || effects != 2*sent {
		t.Errorf("%d effects of %d records, %v", effects, 2*sent, err)
	}
}
