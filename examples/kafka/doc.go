// Command kafka is the consumer of examples/orders over Apache Kafka: a gateway sends a
// shop's webhooks to a topic, workers write invoices, confirmations go to another topic,
// and a query at the end says that none was lost and none was invoiced twice.
//
// # Nouns
//
// The gateway is what a team has in front already, here a plain client of Kafka that knows
// nothing of headrace. Workers are the members of a consumer group. The clerk reads the
// confirmations, in a group of its own.
//
// # Rules
//
// Webhooks of one customer have the customer as the record's key, and are handled in
// order.
package main
