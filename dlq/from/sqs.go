package from

import (
	"strings"

	"github.com/headrace/headrace"
)

// sourceARN is sqs.DeadLetterSourceKey.
const sourceARN = "AWS.DeadLetterQueueSourceArn"

// SQS reads what SQS says of a message that a redrive policy moved, as broker/sqs delivers it:
// the queue that it comes from. It keeps its id. Its age goes on from when it was sent, so the
// dead-letter queue needs a longer MessageRetentionPeriod than the other.
func SQS() Reader {
	return func(d *headrace.Delivery) (*Death, bool) {
		death := &Death{Broker: "SQS"}
		if arn := d.Metadata[sourceARN]; arn != "" {
			death.Reason = "it was received more often than maxReceiveCount allows"
			death.Source = arn[strings.LastIndexByte(arn, ':')+1:]
			d.Coordinates.Topic = death.Source
			return death, true
		}
		d.Coordinates = headrace.Coordinates{}
		return death, true
	}
}
