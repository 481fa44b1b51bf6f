package inbox

import (
	"errors"
	"strings"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
)

// DESIGN §5: what cannot be resolved is kept under a key, and two messages never fall
// together.
//
//evidence:undecodable
func TestIdentifyFallsBack(t *testing.T) {
	t.Parallel()
	absent, malformed := Header("x"), func(*headrace.Delivery) (string, error) { return "", ErrMalformed }
	for _, tc := range []struct {
		name string
		id   string
		key  KeyFunc
		fp   FingerprintFunc
		want string
	}{
		{"own id", "m1", absent, Payload(), "m1"},
		{"long id", strings.Repeat("i", MaxKeyBytes+1), absent, Payload(), "sha256:"},
		{"no id", "", absent, Payload(), "unknown:"},
		{"bad fingerprint", "m1", Literal("k"), malformed, "k"},
		{"long fingerprint", "m1", Literal("k"), func(*headrace.Delivery) (string, error) { return strings.Repeat("f", MaxFingerprintBytes+1), nil }, "k"},
		{"fingerprint panics", "m1", Literal("k"), func(*headrace.Delivery) (string, error) { panic("boom") }, "k"},
	} {
		d := Received(message.NewMessage(tc.id, []byte("payload")), "c/h", "topic")
		if err := Identify(&d, tc.key, tc.fp); !errors.Is(err, ErrAbsent) && !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: error %v", tc.name, err)
		}
		if !strings.HasPrefix(d.Key, tc.want) || len(d.Key) > MaxKeyBytes || d.Fingerprint == "" || len(d.Fingerprint) > MaxFingerprintBytes {
			t.Errorf("%s: key %q, fingerprint %q", tc.name, d.Key, d.Fingerprint)
		}
	}
}

func TestIdentify(t *testing.T) {
	t.Parallel()
	m := message.NewMessage("m1", []byte("payload"))
	m.Metadata.Set("traceparent", "00-0af7-b7ad-01")
	m.SetContext(headrace.WithArrival(t.Context(), headrace.Arrival{Coordinates: headrace.Coordinates{Broker: "kafka", Position: "7"}}))
	d := Received(m, "c/h", "topic")
	if err := Identify(&d, DefaultKey(), Payload()); err != nil || d.Key != "m1" || d.Fingerprint == "" {
		t.Errorf("%q %q %v", d.Key, d.Fingerprint, err)
	}
	if d.Scope != "c/h" || d.Topic != "topic" || d.Coordinates.Position != "7" || d.Trace.Parent == "" || d.Attempt != 1 {
		t.Errorf("%+v", d)
	}
	if d = Received(&message.Message{}, "c/h", "topic"); d.Metadata == nil {
		t.Error("the metadata is nil")
	}
}
