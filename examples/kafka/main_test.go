package main

import (
	"bytes"
	"context"
	"path/filepath"
	"testing"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/headrace/headrace/broker/brokertest"
	"github.com/headrace/headrace/tests/endtoend/services"
)

// The example ends well against a real broker, on topics of its own.
func TestRun(t *testing.T) {
	*broker = brokertest.Variable(t, services.Kafka.Variable, services.Kafka.Name)
	*file = filepath.Join(t.TempDir(), "orders.db")
	suffix := "." + uuid.NewString()[:8]
	paid, created = paid+suffix, created+suffix
	t.Cleanup(func() { remove(t, paid, created) })
	var out bytes.Buffer
	if err := run(t.Context(), &out); err != nil {
		t.Errorf("%v\n%s", err, &out)
	}
}

func remove(t *testing.T, topics ...string) {
	client, err := kgo.NewClient(kgo.SeedBrokers(*broker))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	request := kmsg.NewPtrDeleteTopicsRequest()
	request.TopicNames = topics
	for _, topic := range topics {
		one := kmsg.NewDeleteTopicsRequestTopic()
		one.Topic = kmsg.StringPtr(topic)
		request.Topics = append(request.Topics, one)
	}
	if _, err := request.RequestWith(context.Background(), client); err != nil {
		t.Errorf("remove the topics: %v", err)
	}
}
