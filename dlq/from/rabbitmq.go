package from

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/headrace/headrace"
)

// Names of entries that broker/amqp makes of a delivery: see amqp.ExchangeKey.
const (
	exchangeKey   = "amqp-exchange"
	routingKeyKey = "amqp-routing-key"
)

// rabbitDeath is an entry of RabbitMQ's header x-death: the messages moved from one queue for
// one reason, newest first. broker/amqp makes JSON of the header.
type rabbitDeath struct {
	Count       int64     `json:"count"`
	Reason      string    `json:"reason"`
	Queue       string    `json:"queue"`
	Exchange    string    `json:"exchange"`
	RoutingKeys []string  `json:"routing-keys"`
	Time        time.Time `json:"time"`
}

// RabbitMQ reads the headers of a dead-letter exchange, as broker/amqp delivers them. Exchange
// and routing key of the letter are those under which the message was published first. From
// RabbitMQ 3.13 on Count may stay 1 (rabbitmq-server, issue 11331).
func RabbitMQ() Reader {
	return func(d *headrace.Delivery) (*Death, bool) {
		death := &Death{Broker: "RabbitMQ", Reason: d.Metadata["x-first-death-reason"], Source: d.Metadata["x-first-death-queue"]}
		if death.Source == "" { // a program put it into the queue
			d.Coordinates = headrace.Coordinates{}
			return death, true
		}
		d.Coordinates.Topic = death.Source
		var all []rabbitDeath
		_ = json.Unmarshal([]byte(d.Metadata["x-death"]), &all) // what is no list of deaths says nothing
		i := slices.IndexFunc(all, func(one rabbitDeath) bool { return one.Queue == death.Source && one.Reason == death.Reason })
		if i < 0 {
			return death, true
		}
		first := all[i]
		death.Count, death.First = first.Count, first.Time
		delete(d.Metadata, exchangeKey)
		delete(d.Metadata, routingKeyKey)
		if len(first.RoutingKeys) > 0 && (first.Exchange != "" || first.RoutingKeys[0] != first.Queue) {
			d.Metadata[routingKeyKey] = first.RoutingKeys[0]
		}
		if first.Exchange != "" {
			d.Metadata[exchangeKey] = first.Exchange
		}
		return death, true
	}
}
