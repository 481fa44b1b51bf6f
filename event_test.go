package headrace_test

import (
	"errors"
	"maps"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/headrace/headrace"
)

func TestEventEncode(t *testing.T) {
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		event   headrace.Event
		encoder headrace.Encoder
		want    string
	}{
		"value":             {headrace.Event{Topic: "t", Value: map[string]int{"a": 1}}, nil, `{"a":1}`},
		"payload":           {headrace.Event{Topic: "t", Payload: []byte("\x00\xff")}, nil, "\x00\xff"},
		"empty payload":     {headrace.Event{Topic: "t", Payload: []byte{}}, nil, ""},
		"own codec":         {headrace.Event{Topic: "t", Value: 1}, encoder{[]byte("own"), nil}, "own"},
		"codec of nothing":  {headrace.Event{Topic: "t", Value: 1}, encoder{}, ""},
		"longest names":     {headrace.Event{Topic: strings.Repeat("t", 1024), OrderKey: strings.Repeat("é", 512), Value: 1}, nil, "1"},
		"unsafe for tables": {headrace.Event{Topic: `a"; drop table ../`, Value: 1}, nil, "1"},
	} {
		got, err := c.event.Encode(c.encoder)
		if err != nil || string(got.Payload) != c.want || got.Payload == nil || got.Value != nil {
			t.Errorf("%s: %q, %v", name, got.Payload, err)
		}
		if _, err := uuid.Parse(got.ID); err != nil {
			t.Errorf("%s: id %q", name, got.ID)
		}
	}
	tombstone, err := headrace.Event{Topic: "t", Tombstone: true}.Encode(nil)
	if err != nil || tombstone.Payload != nil {
		t.Errorf("a tombstone: %#v, %v", tombstone.Payload, err)
	}
	if again, err := tombstone.Encode(nil); err != nil || again.Payload != nil {
		t.Errorf("a tombstone encoded twice: %#v, %v", again.Payload, err)
	}
	if got, _ := (headrace.Event{ID: "mine", Topic: "t", Value: 1}).Encode(nil); got.ID != "mine" {
		t.Errorf("id %q", got.ID)
	}
	for _, payload := range []string{"p", ""} {
		_, err := headrace.Event{Topic: "t", Payload: []byte(payload), Value: 1}.Encode(nil)
		if want := "both Value (of type int) and Payload are set, leave one of them out (topic \"t\")"; !errors.Is(err, headrace.ErrInvalidEvent) || !strings.Contains(err.Error(), want) {
			t.Errorf("both: %v", err)
		}
	}
	if _, err := (headrace.Event{Topic: "t", Value: 1}).Encode(encoder{nil, broken}); !errors.Is(err, broken) {
		t.Errorf("the codec's error is lost: %v", err)
	}
}

// encoder is an Encoder with one result.
type encoder struct {
	payload []byte
	err     error
}

func (e encoder) Encode(any) ([]byte, error) { return e.payload, e.err }
func (encoder) ContentType() string          { return "text/own" }

// What a codec has encoded says its media type; what the program encoded says its own.
func TestEventContentType(t *testing.T) {
	for name, c := range map[string]struct {
		event   headrace.Event
		encoder headrace.Encoder
		want    map[string]string
	}{
		"JSON":      {headrace.Event{Value: 1}, nil, map[string]string{"content-type": "application/json"}},
		"own codec": {headrace.Event{Value: 1, Metadata: map[string]string{"a": "b"}}, encoder{}, map[string]string{"a": "b", "content-type": "text/own"}},
		"said":      {headrace.Event{Value: 1, Metadata: map[string]string{"Content-Type": "x"}}, nil, map[string]string{"Content-Type": "x"}},
		"payload":   {headrace.Event{Payload: []byte("{}")}, nil, nil},
		"tombstone": {headrace.Event{Tombstone: true}, nil, nil},
	} {
		c.event.Topic = "t"
		before := maps.Clone(c.event.Metadata)
		got, err := c.event.Encode(c.encoder)
		if err != nil || !maps.Equal(got.Metadata, c.want) {
			t.Errorf("%s: %q, %v", name, got.Metadata, err)
		}
		if again, err := got.Encode(c.encoder); err != nil || !maps.Equal(again.Metadata, c.want) {
			t.Errorf("%s: encoded twice: %q, %v", name, again.Metadata, err)
		}
		if !maps.Equal(c.event.Metadata, before) {
			t.Errorf("%s: the event's own metadata became %q", name, c.event.Metadata)
		}
	}
}

// INVARIANTS 3: 24, 32. What no store can keep is refused where it is published: the
// insert would fail as the framework's own, each time again.
func TestEventRefused(t *testing.T) {
	for want, e := range map[string]headrace.Event{
		"invalid event: Topic is empty":                                       {Value: 1},
		`invalid event: neither Value nor Payload is set, and it is no Tomb`:  {Topic: "t"},
		"invalid event: a Tombstone has neither Value nor Payload (topic \"t": {Topic: "t", Tombstone: true, Payload: []byte{}},
		"invalid event: a Tombstone has neither Value nor Payload":            {Topic: "t", Tombstone: true, Value: 1},
		"invalid event: Delay is negative (-1s)":                              {Topic: "t", Value: 1, Delay: -time.Second},
		"invalid event: encode Value of type chan int: json: unsupported ty":  {Topic: "t", Value: make(chan int)},
		"invalid event: encode Value of type float64: json: unsupported val":  {Topic: "t", Value: math.NaN()},
		"invalid event: Topic holds a NUL byte or is not valid UTF-8":         {Topic: "secret\x00", Value: 1},
		`invalid event: Topic " orders" begins or ends with a blank`:          {Topic: " orders", Value: 1},
		`invalid event: Topic "or\nders" has a control character`:             {Topic: "or\nders", Value: 1},
		"invalid event: ID holds a NUL byte or is not valid UTF-8":            {Topic: "t", ID: "secret\xff", Value: 1},
		"invalid event: OrderKey holds a NUL byte or is not valid UTF-8":      {Topic: "t", OrderKey: "secret\xc3", Value: 1},
		"invalid event: Topic has 1025 bytes, at most 1024 are allowed":       {Topic: strings.Repeat("t", 1025), Value: 1},
		"invalid event: ID has 1025 bytes, at most 1024 are allowed":          {Topic: "t", ID: strings.Repeat("t", 1025), Value: 1},
		"invalid event: OrderKey has 1025 bytes, at most 1024 are allowed":    {Topic: "t", OrderKey: strings.Repeat("t", 1025), Value: 1},
	} {
		_, err := e.Encode(nil)
		if !errors.Is(err, headrace.ErrInvalidEvent) || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
