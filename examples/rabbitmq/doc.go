// Command rabbitmq is the consumer of examples/orders over RabbitMQ: it reads orders from
// a quorum queue, writes an invoice for each, once, and publishes an event for each invoice to
// another one.
//
// # Rules
//
// RabbitMQ has no id for a message, so either its sender sets a message-id or the key comes
// from the body, as it does here.
package main
