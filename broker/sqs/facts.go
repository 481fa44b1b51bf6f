package sqs

import (
	"context"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// Facts are SQS' data about a delivery in addition to the message. They are in the
// handler's context, and not in the metadata, which is the same at each delivery.
type Facts struct {
	// MessageID is SQS' own id of the message, the same at each delivery.
	MessageID string
	// ReceiveCount is how often the message was received so far, including this time, in
	// SQS' approximate count. 0 if unknown.
	ReceiveCount int
	// Sent is when the message was sent, by SQS' clock; zero if unknown.
	Sent time.Time
	// Group, DeduplicationID and SequenceNumber are those of a FIFO queue, otherwise "".
	Group, DeduplicationID, SequenceNumber string
}

type factsKey struct{}

// FactsFrom returns the Facts from a handler's ctx; zero if the delivery is from another
// broker.
func FactsFrom(ctx context.Context) Facts {
	f, _ := ctx.Value(factsKey{}).(Facts)
	return f
}

func factsOf(m *types.Message) Facts {
	of := func(name types.MessageSystemAttributeName) string { return m.Attributes[string(name)] }
	f := Facts{
		Group:           of(types.MessageSystemAttributeNameMessageGroupId),
		DeduplicationID: of(types.MessageSystemAttributeNameMessageDeduplicationId),
		SequenceNumber:  of(types.MessageSystemAttributeNameSequenceNumber),
	}
	if m.MessageId != nil {
		f.MessageID = *m.MessageId
	}
	f.ReceiveCount, _ = strconv.Atoi(of(types.MessageSystemAttributeNameApproximateReceiveCount))
	if ms, err := strconv.ParseInt(of(types.MessageSystemAttributeNameSentTimestamp), 10, 64); err == nil {
		f.Sent = time.UnixMilli(ms)
	}
	return f
}
