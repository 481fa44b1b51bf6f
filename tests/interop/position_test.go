package interop

import (
	"context"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill-kafka/v3/pkg/kafka"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/broker/official"
	"github.com/headrace/headrace/store/sqlite"
)

// officialKafka is a Subscriber of the official adapter with the place of each record.
func officialKafka(t *testing.T, b broker, group string) message.Subscriber {
	return must[message.Subscriber](t)(official.Kafka(b.official.subscriber(t, group), official.KafkaContext{
		Partition: kafka.MessagePartitionFromCtx, Offset: kafka.MessagePartitionOffsetFromCtx,
		Key: kafka.MessageKeyFromCtx, Time: kafka.MessageTimestampFromCtx,
	}))
}

// TestThePlaceOfARecord: partition, offset, key and time are those that the broker told the sender.
func TestThePlaceOfARecord(t *testing.T) {
	b := kafkaBroker(t)
	s := story{T: t, b: b, in: "in-" + strings.ToLower(watermill.NewShortUUID())}
	s.topic(s.in, "billing")
	config := sarama.NewConfig()
	config.Producer.Return.Successes = true
	producer := must[sarama.SyncProducer](t)(sarama.NewSyncProducer([]string{address(t, "kafka")}, config))
	s.close(producer)
	at := time.UnixMilli(1_700_000_000_000)
	partition, offset, err := producer.SendMessage(&sarama.ProducerMessage{Topic: s.in, Key: sarama.StringEncoder("customer-7"), Value: sarama.StringEncoder("x"), Timestamp: at})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), runTimeout)
	defer cancel()
	m := <-must[<-chan *message.Message](t)(s.closing(officialKafka(t, b, "billing")).Subscribe(ctx, s.in))
	if m == nil {
		t.Fatal("no record comes")
	}
	want := headrace.Arrival{OrderKey: "customer-7", Time: at, Coordinates: headrace.Coordinates{
		Broker: "kafka", Topic: s.in, Partition: strconv.Itoa(int(partition)), Position: strconv.FormatInt(offset, 10),
	}}
	if got := headrace.ArrivalFrom(m.Context()); !got.Time.Equal(at) || got.Coordinates != want.Coordinates || got.OrderKey != want.OrderKey {
		t.Errorf("got %+v, want %+v", got, want)
	}
	m.Ack()
}

// TestForeignRecords: records of another client, without an id, through the official
// adapter with official.Kafka: each is applied once, two with equal bytes too.
func TestForeignRecords(t *testing.T) {
	b := kafkaBroker(t)
	ctx, cancel := context.WithTimeout(t.Context(), runTimeout)
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
	source := officialKafka(t, b, "billing")
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
