package from

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/headrace/headrace"
)

// spring begins the names of the headers of Spring Kafka's DeadLetterPublishingRecoverer.
const spring = "kafka_dlt-"

// SpringKafka reads the headers of Spring Kafka's DeadLetterPublishingRecoverer, as broker/kafka
// delivers them. The consumer takes the messages of the handler's topic that failed in the
// consumer group of that name. It passes over those of other groups and topics. A message whose
// group or topic is not named is taken.
//
// The default key of a message without an id is its position, of which Spring writes only a
// part: it becomes a letter without a key. Give the handler a Key that reads the message.
func SpringKafka(group string) Reader {
	return func(d *headrace.Delivery) (*Death, bool) {
		// A message that fails in a retry topic too has a header twice; broker/kafka numbers
		// the earlier one.
		first := func(name string) string {
			if v, ok := d.Metadata[spring+name+"#1"]; ok {
				return v
			}
			return d.Metadata[spring+name]
		}
		d.Coordinates = headrace.Coordinates{}
		death := &Death{Broker: "Spring Kafka", Source: first("original-topic")}
		by := first("original-consumer-group")
		if by != "" && by != group || death.Source != "" && death.Source != d.Topic {
			return death, false
		}
		death.Reason = reason(d.Metadata[spring+"exception-cause-fqcn"], d.Metadata[spring+"exception-fqcn"], d.Metadata[spring+"exception-message"])
		if partition, offset := first("original-partition"), first("original-offset"); len(partition) == 4 && len(offset) == 8 {
			death.Place = fmt.Sprintf("partition %d, offset %d", binary.BigEndian.Uint32([]byte(partition)), binary.BigEndian.Uint64([]byte(offset)))
		}
		return death, true
	}
}

// reason names the exception that was the cause, and says the message of the one around it.
func reason(cause, exception, message string) string {
	if cause == "" {
		cause = exception
	}
	return strings.Trim(cause+": "+message, ": ")
}
