// Package sqs is Amazon SQS as a source and a sink, and SNS as a sink.
//
// # Nouns
//
// A [Source] receives from queues, a [Sink] sends to them, a [TopicSink] publishes to
// topics of SNS. A message is in flight from when it was received until it is deleted or
// given back; its visibility timeout hides it from other receivers meanwhile. A beat
// renews that. A FIFO queue keeps the order of each message group.
//
// # Which client
//
// The AWS SDK itself. The official adapter, watermill-aws v1.0.1, cannot be made safe by
// its options: a Subscribe has one message in flight, and drops the nine behind it after
// a nack or a failed delete; it does not renew the visibility, so that other receivers
// get a slow handler's message while it works; it shows no receive count, group or id of
// SQS if its own id is set; it deletes and sends one message at a time; its marshaler
// replaces bytes that are not UTF-8, fails for a message with more than ten metadata
// entries, and its FIFO queues drop messages that are sent again with the same id. Text
// payloads and metadata have its format, and each adapter reads the other's.
//
// # The source
//
// Up to Receivers concurrent calls receive batches of ten; InFlight messages are handed
// out before the first is acknowledged. Acknowledged messages are deleted, ten in a
// request, and the result of each entry is checked: a failure of the server is retried; a
// rejected one comes again and is a duplicate for the inbox. A nacked message stays
// hidden for NackDelay. A beat is sent for messages that have used a third of their
// visibility timeout, and again each third, up to the 12 hours that SQS allows.
//
// The id of a message is Watermill's UUID if its sender set one, otherwise (wrapped by
// SNS) the id of the notification, otherwise SQS' MessageId. The coordinates are the
// queue's name and the MessageId, which SQS never uses twice, even after a queue was made
// again. The order key is the message group on FIFO queues, and none on others. The
// receive count and the times are in [FactsFrom].
//
// Reading never fails. Attributes become metadata as text: a number's digits, binary
// unchanged if it is UTF-8 without NUL, otherwise "base64:…". If a body is marked as
// base64 but is not, the message becomes an undecodable dead letter. If the MD5 of a body
// is wrong, the message is left to come again.
//
// A consumer's Run first reads the queue's limits (permission sqs:GetQueueAttributes). It
// does not start if VisibilityTimeout is 0, the maxReceiveCount of the redrive policy is
// below the number that deaths and outages may use up, or MessageRetentionPeriod is not
// within SourceOptions.Retention. Failed attempts use up none: they are counted in the
// database.
//
// Temporary errors are retried after 0.1 s to 5 s and logged once. If a queue is gone for
// half a minute its subscription ends. This package never creates a queue.
//
// # The sinks
//
// Publish returns nil only when the server has confirmed every entry of every batch. An
// error means that some were not confirmed: a [RefusedError] names them; outbox.ErrTooLarge
// means that one cannot be sent, and none was. Publishing all again is safe, since they
// keep their UUIDs.
//
// SQS accepts at most ten attributes, none empty and only with characters of XML. The
// names content-type and those of a dead letter's copy (dlq.Headers), then the others in
// alphabetical order become attributes; all other metadata go into
// one attribute named _headrace_metadata, as JSON, from which a Source restores them. A
// payload that SQS would reject is sent in base64 and marked by _headrace_body. For other
// readers these two are attributes like any other.
//
// On FIFO queues and topics (names that end with .fifo) the group is the order key, or
// its hash if SQS does not accept it; a message without one is a group of its own. The
// deduplication id is new for each Publish: SQS confirms but drops a message with an id
// that it has seen within five minutes, so that a redrive or the relay's second try would
// be silently lost. The inbox drops duplicates. UnsafeDeduplicateByID changes that.
//
// # Permissions
//
// A source: sqs:GetQueueUrl, GetQueueAttributes, ReceiveMessage, DeleteMessage and,
// without UnsafeNoHeartbeat, ChangeMessageVisibility. A sink: sqs:GetQueueUrl,
// SendMessage, and GetQueueAttributes unless MaxBytes is set; of SNS sns:Publish. With a
// key of KMS kms:Decrypt, and kms:GenerateDataKey to send.
//
// # Caveats
//
// A receive call that ends with the subscription may leave messages hidden until their
// visibility timeout, and counted as received once more. On a FIFO queue their groups
// wait that long.
//
// On a FIFO queue the messages of a group are handed out without waiting for each other's
// acknowledgement; package consumer keeps their order itself. After a nack, those of the
// group not handed out yet are given back.
//
// SNS was tested against an HTTP stub of its PublishBatch, since no SNS server runs
// locally; SQS against ElasticMQ. A queue subscribed to a topic should have raw message
// delivery; without it set SourceOptions.SNS.
package sqs
