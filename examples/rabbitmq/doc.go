// Command rabbitmq is the consumer of examples/orders over RabbitMQ: a gateway sends a
// shop's webhooks to a queue, workers write invoices, confirmations go to another queue,
// and a query at the end says that none was lost and none was invoiced twice.
//
// # Nouns
//
// The gateway is what a team has in front already, here a plain client of RabbitMQ that
// knows nothing of headrace. Workers are competing consumers of one
// quorum queue. The clerk reads the confirmations.
//
// # Rules
//
// The id of a webhook is the message-id, since there is no place on the broker that could
// stand for it. Webhooks of one customer are handled one at a time within a process; the
// database keeps what two processes do with them apart, and the version of an order what
// comes late.
package main
