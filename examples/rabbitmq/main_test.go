package main

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/google/uuid"
	amqp091 "github.com/rabbitmq/amqp091-go"

	"github.com/headrace/headrace/broker/brokertest"
	"github.com/headrace/headrace/tests/endtoend/services"
)

// The example ends well against a real broker, on queues of its own.
func TestRun(t *testing.T) {
	*broker = brokertest.Variable(t, services.RabbitMQ.Variable, services.RabbitMQ.Name)
	*file = filepath.Join(t.TempDir(), "orders.db")
	suffix := "." + uuid.NewString()[:8]
	paid, created = paid+suffix, created+suffix
	t.Cleanup(func() { remove(t, paid, created) })
	var out bytes.Buffer
	if err := run(t.Context(), &out); err != nil {
		t.Errorf("%v\n%s", err, &out)
	}
}

func remove(t *testing.T, queues ...string) {
	conn, err := amqp091.Dial(*broker)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ch, err := conn.Channel()
	if err != nil {
		t.Fatal(err)
	}
	for _, queue := range queues {
		if _, err := ch.QueueDelete(queue, false, false, false); err != nil {
			t.Errorf("remove queue %s: %v", queue, err)
		}
	}
}
