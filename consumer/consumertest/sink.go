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
)

// Event is a message that was published, or a pattern of one: a field that is zero fits
// anything.
type Event struct {
	// Topic is where it was published.
	Topic string
	// Key is its order key (headrace.Event.OrderKey).
	Key string
	// Payload is its body. As a pattern, JSON fits JSON that says the same: the order of
	// members and white space do not count.
	Payload []byte
	// Metadata are its headers. As a pattern, those that must be there; others may be.
	Metadata map[string]string
	// ID is the id that it was published under. The relay publishes at least once: copies
	// under one ID are one event.
	ID string

	// past says that it did not stand in the outbox.
	past bool
}

// String names e for people.
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

// fits reports whether got is what the pattern e asks for.
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

// document is what a JSON document says, its numbers digit by digit.
func document(payload []byte) (value any, ok bool) {
	if !json.Valid(payload) {
		return nil, false
	}
	d := json.NewDecoder(bytes.NewReader(payload))
	d.UseNumber()
	return value, d.Decode(&value) == nil
}

// sink keeps what a process publishes.
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

// Close implements message.Publisher.
func (*sink) Close() error { return nil }

// Events returns what was published to topic, or anywhere where it is empty, in the
// order in which it was first published, each once. It does not wait: see Settle.
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

// fitting are the events that fit want. The copies of dead letters are events as well;
// they are meant only by who names a topic.
func (k *Kit) fitting(want Event) (list []Event) {
	for _, e := range k.Events(want.Topic) {
		_, letter := e.Metadata[dlq.HeaderLetter]
		if want.fits(e) && (want.Topic != "" || !letter) {
			list = append(list, e)
		}
	}
	return list
}

// pastOutbox is how often e was published although it was not in the outbox.
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

// Published asserts, after Settle, that one event that fits want was published: one, and
// not one for each delivery or attempt. Several copies of one event (same ID) are one.
// It also fails where the event did not come out of the outbox, as one that a handler
// hands to the Sink itself. A pattern without a Topic leaves out the copies of dead letters.
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

// NotPublished asserts, after Settle, that no event was published that fits pattern. One
// without a Topic leaves out the copies of dead letters, which are published as well.
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
