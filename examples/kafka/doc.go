// Command kafka is the consumer of examples/orders over Apache Kafka: it reads orders from
// a topic, writes an invoice for each, once, and publishes an event for each invoice to
// another one.
//
// # Rules
//
// Where a record has no id of its own, its place in the partition is its id. Here the key
// comes from the body, since the shop sends an order twice as two records.
package main
