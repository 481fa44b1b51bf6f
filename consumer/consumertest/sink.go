package consumertest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"strings"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/outbox"
)

// Event is a published message, or a pattern of one: a zero field matches everything. A local
// event of a handler is one as well.
type Event struct {
	// Topic is the topic.
	Topic string
	// Key is the order key (headrace.Event.OrderKey).
	Key string
	// Payload is the body. As a pattern, JSON matches equal JSON: the order of members
	// and white space do not count.
	Payload []byte
	// Metadata are the headers. In a pattern, those that the event must have; it may have
	// others.
	Metadata map[string]string
	// ID is the event's id. The relay publishes at least once: copies with the same ID
	// are one event.
	ID string

	// past says that the event did not come from the outbox.
	past bool
}

// String describes e.
func (e Event) String() string {
	parts := []string{"topic " + fmt.Sprintf("%q", e.Topic)}
	if e.Key != "" {
		parts = append(parts, fmt.Sprintf("key %q", e.Key))
	}
	if e.Payload != nil {
		parts = append(parts, "payload "+shown(e.Payload))
	}
	if len(e.Metadata) > 0 {
		parts = append(parts, fmt.Sprintf("headers %q", e.Metadata))
	}
	if e.ID != "" {
		parts = append(parts, "id "+e.ID)
	}
	return strings.Join(parts, ", ")
}

// fits reports whether got matches the pattern e.
func (e Event) fits(got Event) bool {
	if e.Topic != "" && e.Topic != got.Topic || e.Key != "" && e.Key != got.Key || e.ID != "" && e.ID != got.ID {
		return false
	}
	for name, value := range e.Metadata {
		if is, ok := got.Metadata[name]; !ok || is != value {
			return false
		}
	}
	return e.Payload == nil || saysTheSame(e.Payload, got.Payload)
}

func saysTheSame(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	x, ok := document(a)
	y, also := document(b)
	return ok && also && reflect.DeepEqual(x, y)
}

// document decodes a JSON document; numbers keep their digits.
func document(payload []byte) (value any, ok bool) {
	if !json.Valid(payload) {
		return nil, false
	}
	d := json.NewDecoder(bytes.NewReader(payload))
	d.UseNumber()
	return value, d.Decode(&value) == nil
}

// sink keeps the messages that a process publishes.
type sink struct{ p *process }

// Publish implements message.Publisher.
func (s *sink) Publish(topic string, messages ...*message.Message) error {
	k := s.p.k
	for _, m := range messages {
		e := Event{Topic: topic, ID: m.UUID, Payload: bytes.Clone(m.Payload), Metadata: maps.Clone(map[string]string(m.Metadata))}
		k.mu.Lock()
		key, relayed := k.relayed[m.UUID]
		e.Key, e.past = key, !relayed
		k.published = append(k.published, e)
		k.mu.Unlock()
		k.story.add("process %d published %s", s.p.n, e)
	}
	k.pulse.beat()
	return nil
}

// noteLocal notes the local events of a transaction that is committed: no Sink gets them. k.mu is held.
func (k *Kit) noteLocal(events []outbox.Row) {
	for i := range events {
		if e := &events[i].Event; e.Local {
			k.published = append(k.published, Event{Topic: e.Topic, Key: e.OrderKey, ID: e.ID, Payload: bytes.Clone(e.Payload), Metadata: maps.Clone(e.Metadata)})
		}
	}
}

// Close implements message.Publisher.
func (*sink) Close() error { return nil }

// Events returns the messages published to topic ("" is all topics), each once, in the
// order of their first publication: local events, when their transaction is committed, and those that
// a Sink has got. It does not wait: see Settle.
func (k *Kit) Events(topic string) []Event {
	k.mu.Lock()
	defer k.mu.Unlock()
	var list []Event
	seen := make(map[string]bool)
	for _, e := range k.published {
		if (topic == "" || e.Topic == topic) && !seen[e.ID] {
			seen[e.ID] = true
			list = append(list, e)
		}
	}
	return list
}

// fitting returns the events that match want. The copies of dead letters are events too;
// only a pattern with a topic matches them.
func (k *Kit) fitting(want Event) (list []Event) {
	for _, e := range k.Events(want.Topic) {
		_, letter := e.Metadata[dlq.HeaderLetter]
		if want.fits(e) && (want.Topic != "" || !letter) {
			list = append(list, e)
		}
	}
	return list
}

// pastOutbox returns how often e was published without coming from the outbox.
func (k *Kit) pastOutbox(e Event) (n int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, copied := range k.published {
		if copied.past && copied.ID == e.ID {
			n++
		}
	}
	return n
}

// Published asserts, after Settle, that exactly one event that matches want was
// published, not one for each delivery or attempt. Copies of an event (same ID) count as
// one. It also fails if the event did not come from the outbox, such as one that a
// handler hands to the Sink itself. A pattern without a Topic ignores the copies of dead
// letters. Local events count too, those of a Tx: what Kit.Publish has written, only a Sink shows.
func (k *Kit) Published(want Event) {
	k.t.Helper()
	k.Settle()
	switch list := k.fitting(want); len(list) {
	case 1:
		if n := k.pastOutbox(list[0]); n > 0 {
			k.t.Errorf("Published: it was published past the Tx, %d times: %s\nIt did not come out of the outbox: a handler that calls the "+
				"Sink itself publishes in each attempt, and what is rolled back too. Use tx.Publish.\n%s", n, list[0], k.tell())
		}
	case 0:
		k.t.Errorf("Published: no event fits: %s\n%s", want, k.shownEvents())
	default:
		k.t.Errorf("Published: %d events fit, want one: %s\n%s\nEvents of a Tx leave once; these were published for several messages, "+
			"or past the Tx.\n%s", len(list), want, k.shownEvents(), k.tell())
	}
}

// NotPublished asserts, after Settle, that no published event matches pattern. A pattern
// without a Topic ignores the copies of dead letters, which are published too.
func (k *Kit) NotPublished(pattern Event) {
	k.t.Helper()
	k.Settle()
	if list := k.fitting(pattern); len(list) > 0 {
		k.t.Errorf("NotPublished: %d events fit: %s\n%s\n%s", len(list), pattern, k.shownEvents(), k.tell())
	}
}

func (k *Kit) shownEvents() string {
	var lines []string
	for _, e := range k.Events("") {
		lines = append(lines, e.String())
	}
	return "published:" + indent(lines)
}
