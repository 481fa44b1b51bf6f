// Command foreign has clients that nobody here wrote send to every broker, while processes of
// a consumer are killed and the broker is killed once, and counts what became of the
// messages. scripts/foreign installs the clients and runs it.
//
// # Nouns
//
// The sender is send.py: it sends numbers with the broker's own Python client, each again
// until it is confirmed. A worker is a process of a headrace consumer whose handler inserts
// the number. A row of the table is lost and applied twice: both must be 0.
//
// # Caveats
//
// ElasticMQ keeps its queues in memory and PostgreSQL holds the effects too, so these two
// brokers are not killed.
package main
