package story

import "github.com/ThreeDotsLabs/watermill/message"

// sink is a Watermill Publisher that keeps, in the journal, what was published: the other side's own record.
type sink struct{ journal *journal }

// Publish implements message.Publisher. It returns when the messages are in the journal.
func (s sink) Publish(topic string, messages ...*message.Message) error {
	list := make([]published, len(messages))
	for i, m := range messages {
		list[i] = published{topic, m.UUID}
	}
	return s.journal.publish(list)
}

// Close implements message.Publisher.
func (sink) Close() error { return nil }
