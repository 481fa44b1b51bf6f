package official_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"go.uber.org/goleak"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/broker/official"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// record is what the Subscriber of watermill-kafka leaves in a context. Package tests/interop
// has the real one.
type record struct {
	partition int32
	offset    int64
	key       string
	at        time.Time
}

type recordKey struct{}

func from(ctx context.Context) (record, bool) {
	r, ok := ctx.Value(recordKey{}).(record)
	return r, ok
}

var place = official.KafkaContext{
	Partition: func(ctx context.Context) (int32, bool) { r, ok := from(ctx); return r.partition, ok },
	Offset:    func(ctx context.Context) (int64, bool) { r, ok := from(ctx); return r.offset, ok },
	Key:       func(ctx context.Context) ([]byte, bool) { r, ok := from(ctx); return []byte(r.key), ok },
	Time:      func(ctx context.Context) (time.Time, bool) { r, ok := from(ctx); return r.at, ok },
}

// fake delivers messages whose contexts it made, and closes the channel when that of Subscribe ends.
type fake struct{ contexts []context.Context }

var errAway = errors.New("away")

func (f *fake) Subscribe(ctx context.Context, topic string) (<-chan *message.Message, error) {
	if topic == "" {
		return nil, errAway
	}
	out := make(chan *message.Message)
	go func() {
		defer close(out)
		for _, c := range f.contexts {
			m := message.NewMessage("", []byte("x"))
			of, cancel := context.WithCancel(c)
			defer context.AfterFunc(ctx, cancel)()
			m.SetContext(of)
			select {
			case out <- m:
			case <-ctx.Done():
				return
			}
		}
		<-ctx.Done()
	}()
	return out, nil
}

func (f *fake) Close() error { return nil }

// initializing is a fake that makes topics.
type initializing struct {
	fake
	made []string
}

func (i *initializing) SubscribeInitialize(topic string) error {
	i.made = append(i.made, topic)
	return nil
}

// A message has the place, the key and the time of its record; one without a record has what
// it had. The channel is closed with that of the Subscriber, also if a message is not taken.
func TestKafka(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_700_000_000, 0)
	own := headrace.Arrival{OrderKey: "own"}
	sub := &fake{contexts: []context.Context{
		context.WithValue(t.Context(), recordKey{}, record{3, 42, "customer-7", at}),
		headrace.WithArrival(t.Context(), own),
		t.Context(),
	}}
	source, err := official.Kafka(sub, place)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	messages, err := source.Subscribe(ctx, "orders")
	if err != nil {
		t.Fatal(err)
	}
	want := headrace.Arrival{
		Coordinates: headrace.Coordinates{Broker: "kafka", Topic: "orders", Partition: "3", Position: "42"}, OrderKey: "customer-7", Time: at,
	}
	if got := headrace.ArrivalFrom((<-messages).Context()); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := headrace.ArrivalFrom((<-messages).Context()); got != own {
		t.Errorf("got %+v, want %+v", got, own)
	}
	stop() // the third is not taken
	for range messages {
	}
	if _, err := source.Subscribe(t.Context(), ""); !errors.Is(err, errAway) {
		t.Errorf("the error of Subscribe is %v", err)
	}
}

// A Subscriber that makes topics does so through Kafka, and no other looks as if it did.
func TestInitialize(t *testing.T) {
	t.Parallel()
	sub := &initializing{}
	source, err := official.Kafka(sub, place)
	if err != nil {
		t.Fatal(err)
	}
	if i, ok := source.(message.SubscribeInitializer); !ok || i.SubscribeInitialize("orders") != nil || len(sub.made) != 1 {
		t.Errorf("made %q", sub.made)
	}
	if source, err = official.Kafka(&fake{}, place); err != nil {
		t.Fatal(err)
	}
	if _, ok := source.(message.SubscribeInitializer); ok {
		t.Error("a Subscriber that makes no topics seems to")
	}
}

func TestMissingFunctions(t *testing.T) {
	t.Parallel()
	for want, from := range map[string]official.KafkaContext{
		"MessagePartitionFromCtx": {Offset: place.Offset}, "MessagePartitionOffsetFromCtx": {Partition: place.Partition},
	} {
		if _, err := official.Kafka(&fake{}, from); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if _, err := official.Kafka(nil, place); err == nil {
		t.Error("a nil Subscriber is accepted")
	}
}
