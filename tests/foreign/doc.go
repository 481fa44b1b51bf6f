// Command foreign sends to every broker with the broker's own Python client, kills processes
// of a consumer and once the broker, and counts what became of the messages. scripts/foreign
// installs the clients and runs it.
//
// # Nouns
//
// The sender is send.py: it sends numbers with the broker's own Python client, each again
// until it is confirmed. A worker is a process of a headrace consumer whose handler inserts
// the number. A frozen one is stopped (SIGSTOP) until others have its messages, and goes on
// then. The table says how many were lost and applied twice: both must be 0.
//
// # Caveats
//
// PostgreSQL holds the effects too, so it is not killed as a broker.
package main
