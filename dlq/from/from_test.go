package from_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/from"
)

// The headers as Spring Kafka 2.8 to 3.3 writes them: texts are UTF-8, partition and timestamps
// are big-endian numbers of 4 and 8 bytes.
var springs = map[string]string{
	"kafka_dlt-original-topic":          "orders.paid",
	"kafka_dlt-original-partition":      "\x00\x00\x00\x03",
	"kafka_dlt-original-offset":         "\x00\x00\x00\x00\x00\x01\x86\xa0",
	"kafka_dlt-original-timestamp":      "\x00\x00\x01\x8c\xf1\xd7\x0c\x00",
	"kafka_dlt-original-timestamp-type": "CreateTime",
	"kafka_dlt-original-consumer-group": "billing",
	"kafka_dlt-exception-fqcn":          "org.springframework.kafka.listener.ListenerExecutionFailedException",
	"kafka_dlt-exception-cause-fqcn":    "java.lang.IllegalStateException",
	"kafka_dlt-exception-message":       "Listener failed; no stock for order 17",
	"kafka_dlt-exception-stacktrace":    "org.springframework…\n\tat …",
}

// with returns headers with others, given by name and value; an empty value takes one out.
func with(headers map[string]string, more ...string) map[string]string {
	headers = maps.Clone(headers)
	if headers == nil {
		headers = make(map[string]string)
	}
	for i := 0; i < len(more); i += 2 {
		if headers[more[i]] = more[i+1]; more[i+1] == "" {
			delete(headers, more[i])
		}
	}
	return headers
}

const spring = "java.lang.IllegalStateException: Listener failed; no stock for order 17 (given up by Spring Kafka"

func TestReaders(t *testing.T) {
	rabbit := map[string]string{
		"x-first-death-queue": "orders.paid", "x-first-death-reason": "rejected", "x-first-death-exchange": "orders",
		"x-death": `[{"count":2,"exchange":"orders","queue":"orders.paid","reason":"rejected","routing-keys":["eu.paid"],"time":"2026-11-26T13:00:00Z"},` +
			`{"count":1,"exchange":"","queue":"orders.wait","reason":"expired","routing-keys":["orders.wait"],"time":"2026-11-26T13:00:05Z"}]`,
		"amqp-exchange": "dead", "amqp-routing-key": "orders.paid.dead",
	}
	direct := with(rabbit, "x-death", `[{"count":1,"exchange":"","queue":"orders.paid","reason":"rejected","routing-keys":["orders.paid"],"time":"2026-11-26T13:00:00Z"}]`)
	for name, c := range map[string]struct {
		read  from.Reader
		has   map[string]string
		error string // "" if it is another consumer's
		topic string // of the position
		left  []string
	}{
		"rabbitmq": {from.RabbitMQ(), rabbit, "rejected (given up by RabbitMQ, from orders.paid, count 2, first at 2026-11-26T13:00:00Z)", "orders.paid",
			[]string{"amqp-exchange", "orders", "amqp-routing-key", "eu.paid"}},
		"rabbitmq, default exchange": {from.RabbitMQ(), direct, "rejected (given up by RabbitMQ, from orders.paid, count 1, first at 2026-11-26T13:00:00Z)", "orders.paid",
			[]string{"amqp-exchange", "", "amqp-routing-key", ""}},
		"rabbitmq, no list":       {from.RabbitMQ(), with(rabbit, "x-death", "{"), "rejected (given up by RabbitMQ, from orders.paid)", "orders.paid", []string{"amqp-exchange", "dead"}},
		"rabbitmq, put by hand":   {from.RabbitMQ(), nil, "the reason is unknown (given up by RabbitMQ)", "", nil},
		"sqs":                     {from.SQS(), with(nil, "AWS.DeadLetterQueueSourceArn", "arn:aws:sqs:eu-west-1:1:orders-paid"), "it was received more often than maxReceiveCount allows (given up by SQS, from orders-paid)", "orders-paid", nil},
		"sqs, put by hand":        {from.SQS(), nil, "the reason is unknown (given up by SQS)", "", nil},
		"spring":                  {from.SpringKafka("billing"), springs, spring + ", from orders.paid, partition 3, offset 100000)", "", nil},
		"spring, of another":      {from.SpringKafka("shipping"), springs, "", "", nil},
		"spring, another's topic": {from.SpringKafka("billing"), with(springs, "kafka_dlt-original-topic", "orders.lost"), "", "", nil},
		"spring, no group":        {from.SpringKafka("billing"), with(springs, "kafka_dlt-original-consumer-group", ""), spring + ", from orders.paid, partition 3, offset 100000)", "", nil},
		"spring, retry topic": {from.SpringKafka("billing"), with(springs,
			"kafka_dlt-original-topic#1", "orders.paid", "kafka_dlt-original-topic", "orders.paid-retry-0",
			"kafka_dlt-original-partition#1", "\x00\x00\x00\x07", "kafka_dlt-original-offset#1", "\x00\x00\x00\x00\x00\x00\x00\x09"),
			spring + ", from orders.paid, partition 7, offset 9)", "", nil},
		"spring, no cause": {from.SpringKafka("billing"), with(springs, "kafka_dlt-exception-cause-fqcn", "", "kafka_dlt-exception-fqcn", "x.Lost", "kafka_dlt-exception-message", "",
			"kafka_dlt-original-offset", "12"), "x.Lost (given up by Spring Kafka, from orders.paid)", "", nil},
		"spring, put by hand": {from.SpringKafka("billing"), nil, "the reason is unknown (given up by Spring Kafka)", "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			d := headrace.Delivery{Topic: "orders.paid", Metadata: with(c.has), Coordinates: headrace.Coordinates{Broker: "b", Topic: "dead", Position: "1"}}
			death, ours := c.read(&d)
			if ours != (c.error != "") || ours && death.Error() != c.error {
				t.Errorf("ours: %v, error %q, want %q", ours, death.Error(), c.error)
			}
			if d.Coordinates.Topic != c.topic || c.topic == "" && !d.Coordinates.IsZero() {
				t.Errorf("position %s", d.Coordinates)
			}
			for i := 0; i < len(c.left); i += 2 {
				if d.Metadata[c.left[i]] != c.left[i+1] {
					t.Errorf("%s is %q, want %q", c.left[i], d.Metadata[c.left[i]], c.left[i+1])
				}
			}
		})
	}
}

// Letters that a broker gave up for one reason are one group, and secrets in an exception's text
// are redacted.
func TestDeathIsDescribed(t *testing.T) {
	of := func(more ...string) dlq.Failure {
		death, _ := from.SpringKafka("billing")(&headrace.Delivery{Topic: "orders.paid", Metadata: with(springs, more...)})
		return dlq.Describe(death, nil, nil)
	}
	one := of()
	if two := of("kafka_dlt-original-offset", "\x00\x00\x00\x00\x00\x00\x00\x09", "kafka_dlt-exception-message", "Listener failed; no stock for order 18"); two.Fingerprint != one.Fingerprint {
		t.Errorf("two groups: %q and %q", one.Error, two.Error)
	}
	if other := of("kafka_dlt-exception-message", "Listener failed; out of memory"); other.Fingerprint == one.Fingerprint {
		t.Errorf("one group: %q and %q", one.Error, other.Error)
	}
	if secret := of("kafka_dlt-exception-message", "GET https://bob:hunter2@host failed"); strings.Contains(secret.Error, "hunter2") {
		t.Errorf("it shows a password: %s", secret.Error)
	}
}
