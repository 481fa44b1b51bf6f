// Package from reads what brokers write on messages that they gave up themselves.
//
// # Nouns
//
// A dead-letter queue that a broker filled holds messages that no handler of headrace made
// dead letters: by RabbitMQ's dead-letter exchange, a redrive policy of SQS, or Spring
// Kafka's DeadLetterPublishingRecoverer. consumer.Ingest reads it. A [Reader] knows the
// headers of one of them, and a [Death] is what they say.
//
// # Rules
//
// A Reader never fails: headers that are missing or cannot be read are left out.
//
// It gives the delivery the position of its message before the broker moved it, or none. The
// position in the dead-letter queue would be another key.
//
// # Caveats
//
// RabbitMQ and SQS do not say whose message it is, so their dead-letter queue must belong to
// the one handler that ingests it. Kafka's may be shared.
package from
