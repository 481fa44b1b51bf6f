package inbox_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/inbox"
)

// DESIGN §5: what cannot be resolved is kept under a key, and two messages never fall
// together.
//
//evidence:undecodable
func TestIdentifyFallsBack(t *testing.T) {
	t.Parallel()
	absent, malformed := inbox.Header("x"), func(*headrace.Delivery) (string, error) { return "", inbox.ErrMalformed }
	for _, tc := range []struct {
		name string
		id   string
		key  inbox.KeyFunc
		fp   inbox.FingerprintFunc
		want string
	}{
		{"own id", "m1", absent, inbox.Payload(), "stand-in:sha256:"},
		{"no id", "", absent, inbox.Payload(), "stand-in:sha256:"},
		{"as a stand-in", "m1", inbox.Literal("stand-in:x"), inbox.Payload(), "stand-in:sha256:"},
		{"bad fingerprint", "m1", inbox.Literal("k"), malformed, "k"},
		{"long fingerprint", "m1", inbox.Literal("k"), func(*headrace.Delivery) (string, error) { return strings.Repeat("f", inbox.MaxFingerprintBytes+1), nil }, "k"},
		{"fingerprint panics", "m1", inbox.Literal("k"), func(*headrace.Delivery) (string, error) { panic("boom") }, "k"},
	} {
		d := inbox.Received(message.NewMessage(tc.id, []byte("payload")), "c/h", "topic")
		if err := inbox.Identify(&d, tc.key, tc.fp, nil); !errors.Is(err, inbox.ErrAbsent) && !errors.Is(err, inbox.ErrMalformed) {
			t.Errorf("%s: error %v", tc.name, err)
		}
		if !strings.HasPrefix(d.Key, tc.want) || len(d.Key) > inbox.MaxKeyBytes || d.Fingerprint == "" || len(d.Fingerprint) > inbox.MaxFingerprintBytes {
			t.Errorf("%s: key %q, fingerprint %q", tc.name, d.Key, d.Fingerprint)
		}
	}
}

func TestIdentify(t *testing.T) {
	t.Parallel()
	m := message.NewMessage("m1", []byte("payload"))
	m.Metadata.Set("traceparent", "00-0af7-b7ad-01")
	m.SetContext(headrace.WithArrival(t.Context(), headrace.Arrival{Coordinates: headrace.Coordinates{Broker: "kafka", Position: "7"}}))
	d := inbox.Received(m, "c/h", "topic")
	if err := inbox.Identify(&d, inbox.DefaultKey(), inbox.Payload(), nil); err != nil || d.Key != "m1" || d.Fingerprint == "" {
		t.Errorf("%q %q %v", d.Key, d.Fingerprint, err)
	}
	if d.Scope != "c/h" || d.Topic != "topic" || d.Coordinates.Position != "7" || d.Trace.Parent == "" || d.Attempt != 1 {
		t.Errorf("%+v", d)
	}
	if d = inbox.Received(&message.Message{}, "c/h", "topic"); d.Metadata == nil {
		t.Error("the metadata is nil")
	}
}

// DESIGN §5: a stand-in key is the same for each delivery of a message: its position, or a
// hash of all that a redelivery keeps.
//
//evidence:undecodable
func TestStandInKey(t *testing.T) {
	t.Parallel()
	keyOf := func(id, payload, position string, metadata ...string) string {
		m := message.NewMessage(id, []byte(payload))
		for i := 0; i < len(metadata); i += 2 {
			m.Metadata.Set(metadata[i], metadata[i+1])
		}
		m.SetContext(headrace.WithArrival(t.Context(), headrace.Arrival{Coordinates: headrace.Coordinates{Broker: "b", Position: position}}))
		d := inbox.Received(m, "c/h", "topic")
		if err := inbox.Identify(&d, inbox.Header("none"), inbox.Payload(), func(header string) bool { return header == "count" }); err == nil {
			t.Fatal("it has a key")
		}
		if !inbox.IsStandIn(d.Key) || len(d.Key) > inbox.MaxKeyBytes {
			t.Errorf("key %q", d.Key)
		}
		return d.Key
	}
	first := keyOf("", "p", "", "a", "1", "b", "2")
	if again := keyOf("", "p", "", "b", "2", "count", "3", "a", "1"); again != first {
		t.Errorf("a redelivery has the key %q, the first had %q", again, first)
	}
	if got := keyOf("", "p", "7", "count", "1"); got != "stand-in:b:::7" {
		t.Errorf("with a position the key is %q", got)
	}
	if got := keyOf("", "p", strings.Repeat("7", inbox.MaxKeyBytes)); !strings.HasPrefix(got, "stand-in:sha256:") {
		t.Errorf("with a long position the key is %q", got)
	}
	seen := map[string]bool{first: true}
	for _, other := range []string{
		keyOf("x", "p", "", "a", "1", "b", "2"), keyOf("", "q", "", "a", "1", "b", "2"), keyOf("", "p", "", "a", "1"),
		keyOf("", "p", "", "a1", "", "b", "2"), keyOf("", "p", "", "a", "1b", "2", ""), keyOf("p", "", "", "a", "1", "b", "2"),
	} {
		if seen[other] {
			t.Errorf("two messages have the key %q", other)
		}
		seen[other] = true
	}
}
