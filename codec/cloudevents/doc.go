// Package cloudevents contains the codec for CloudEvents 1.0 (https://cloudevents.io).
//
// # Nouns
//
// A [Codec] decodes messages that are CloudEvents into a handler's type, and makes
// CloudEvents of the events that a handler publishes. The [Mode] says how: in Structured
// mode the payload is a JSON object with the attributes and the data, in the binary modes
// the payload is the data and the attributes are headers, by the names that the binding of a
// protocol gives them.
//
// # Rules
//
// All modes are read, whatever the Mode is. A message that is no CloudEvent, or an invalid
// one, is undecodable: it becomes a dead letter without another attempt, and the error names
// the attributes, not their values.
//
// The handler's type gets the data. A handler for event.Event, of
// github.com/cloudevents/sdk-go/v2/event, gets the attributes as well, and what it publishes
// as Value of that type keeps its own attributes.
//
// The default key of a consumer is the source and the id of a CloudEvent: see
// inbox.CloudEvents. A sender that publishes an event twice under one id has it applied
// once.
//
// # Caveats
//
// Event.Payload is published unchanged: give Event.Value. SQS, Redis and PostgreSQL have no
// binding: use Structured there. Batches of CloudEvents in one message are not read.
package cloudevents
