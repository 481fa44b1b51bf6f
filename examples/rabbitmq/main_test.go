package main

import (
	"testing"

	amqp091 "github.com/rabbitmq/amqp091-go"

	"github.com/headrace/headrace/tests/endtoend/storytest"
)

func TestStory(t *testing.T) { storytest.Run(t, broker, topics) }

func topics(t *testing.T, address string) (all []string) {
	uri, err := amqp091.ParseURI(address)
	if err != nil {
		t.Fatal(err)
	}
	queues, err := list(t.Context(), uri)
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range queues {
		all = append(all, q.Name)
	}
	return all
}
