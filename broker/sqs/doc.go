// Package sqs is Amazon SQS as a source and a sink, and SNS as a sink.
//
// # Nouns
//
// A [Source] receives from queues, a [Sink] sends to them, a [TopicSink] publishes to
// topics of SNS. A message is in flight from when it was received until it is deleted or
// given back; its visibility timeout hides it from others meanwhile. A beat renews that.
// A message group is what a FIFO queue keeps the order of.
//
// # Which client
//
// The AWS SDK itself. The official adapter, watermill-aws v1.0.1, cannot be made safe by
// its options: a Subscribe has one message in flight, and drops the nine behind it after
// a nack or a failed delete; nothing renews the visibility, so that a slow handler's
// message is given to others while it works; it shows no receive count, group or id of
// SQS where its own id is set; it deletes and sends one message at a time; its marshaler
// replaces bytes that are no UTF-8, loses every metadata entry above the tenth by an error
// of the whole message, and its FIFO queues drop what is sent again with the same id.
// Text payloads and metadata stand on the queue as it writes them, and either reads the
// other's.
//
// # The source
//
// Batches of ten are received by up to Receivers calls at once; InFlight messages are
// handed out before the first is acknowledged. An acknowledged message is deleted, ten in
// a request, the result of each entry looked at: what failed on the server is tried again,
// what was refused comes again and is a duplicate for the inbox. A nacked message stays
// hidden for NackDelay. A beat goes out for what has used up a third of its visibility
// timeout, and again each third, up to the 12 hours that SQS allows.
//
// The id of a message is Watermill's UUID where its sender set one, else (wrapped by SNS)
// the id of the notification, else SQS' MessageId. The coordinates are the queue's name
// and the MessageId, which SQS never gives twice, also after a queue was made anew. The
// order key is the message group on FIFO queues, and nothing on others. The receive count
// and the times are in [FactsFrom].
//
// Reading never fails. Attributes become metadata as text: a number's digits, binary as
// itself where it is UTF-8 without NUL, else as "base64:…". A body that says it is base64
// and is not ends as an undecodable dead letter. A body whose MD5 is not the one that SQS
// sent is left to come again.
//
// A consumer's Run asks the queue for its limits first (permission
// sqs:GetQueueAttributes), and refuses to start where VisibilityTimeout is 0, the
// maxReceiveCount of the redrive policy is below what deaths and outages may use up, or
// MessageRetentionPeriod is not within SourceOptions.Retention. Failed attempts use up
// nothing: they are counted in the database.
//
// Temporary errors are tried again after 0.1 s to 5 s and logged once. A queue that is
// gone ends the subscription. No queue is ever created.
//
// # The sinks
//
// Publish returns nil only when the server has confirmed every entry of every batch. An
// error means that some were not confirmed: a [RefusedError] names which; ErrTooLarge
// means that one cannot be sent, and none was. Publishing all again is safe, since they
// keep their UUIDs.
//
// SQS takes at most ten attributes, none empty and no characters but those of XML. The
// first names in alphabetical order that it takes become attributes; all other metadata go
// into the one named _headrace_metadata, as JSON, and come back from there. A payload that
// SQS would not take is sent in base64 and says so in _headrace_body. To readers other
// than ours these two are attributes like any other.
//
// On FIFO queues and topics (names that end with .fifo) the group is the order key, or its
// hash where SQS takes it not as it is; a message without one is a group of its own. The
// deduplication id is new for each Publish: SQS says yes to an id that it has seen within
// five minutes and drops the message, so that a redrive or the relay's second try would be
// lost in silence. Duplicates are the inbox's to drop. UnsafeDeduplicateByID chooses
// otherwise.
//
// # Caveats
//
// A receive call that ends with the subscription may leave messages hidden until their
// visibility timeout, and one receive the more counted. On a FIFO queue their groups wait
// for as long.
//
// On a FIFO queue the messages of a group are handed out without waiting for each other's
// acknowledgement, as package consumer wants it, which keeps their order itself. Behind a
// nack, those not handed out yet are given back.
//
// SNS was tested against an HTTP stub of its PublishBatch, since no server of it runs on
// one machine; SQS against ElasticMQ. A queue behind a topic should have raw message
// delivery; without it set SourceOptions.SNS.
package sqs
