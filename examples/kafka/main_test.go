package main

import (
	"log/slog"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/headrace/headrace/tests/endtoend/storytest"
)

func TestStory(t *testing.T) { storytest.Run(t, broker, topics) }

func topics(t *testing.T, address string) (all []string) {
	client, err := kgo.NewClient(kgo.SeedBrokers(connect(address, slog.Default()).(connection).brokers...))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	known, err := kmsg.NewPtrMetadataRequest().RequestWith(t.Context(), client)
	if err != nil {
		t.Fatal(err)
	}
	for _, topic := range known.Topics {
		if topic.Topic != nil {
			all = append(all, *topic.Topic)
		}
	}
	return all
}
