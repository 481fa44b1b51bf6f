package cloudevents_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/google/go-cmp/cmp"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/codec"
	"github.com/headrace/headrace/codec/cloudevents"
	"github.com/headrace/headrace/inbox"
)

var at = time.Date(2026, 11, 23, 10, 0, 0, 5, time.UTC)

func made(t *testing.T, o cloudevents.Options) *cloudevents.Codec {
	t.Helper()
	c, err := cloudevents.New("/shop", o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// full is an event with every attribute.
func full() event.Event {
	e := event.New()
	e.SetID("i 1")
	e.SetSource("/other")
	e.SetType("t")
	e.SetSubject(`Grüße "100%"`)
	e.SetDataSchema("https://example.com/schema")
	e.SetTime(at)
	e.SetExtension("partitionkey", "p")
	_ = e.SetData("application/json", map[string]int{"number": 7})
	return e
}

// Each mode writes what the specification of its binding says.
func TestWritten(t *testing.T) {
	for mode, want := range map[cloudevents.Mode]headrace.Event{
		cloudevents.Structured: {
			Metadata: map[string]string{"content-type": "application/cloudevents+json", "own": "1"},
			Payload: []byte(`{"specversion":"1.0","id":"i 1","source":"/other","type":"t","subject":"Grüße \"100%\"","datacontenttype":"application/json",` +
				`"dataschema":"https://example.com/schema","time":"2026-11-23T10:00:00.000000005Z","data":{"number":7},"partitionkey":"p"}`),
		},
		cloudevents.Kafka: {
			Metadata: map[string]string{
				"content-type": "application/json", "ce_specversion": "1.0", "ce_id": "i 1", "ce_source": "/other", "ce_type": "t", "own": "1",
				"ce_subject": `Grüße "100%"`, "ce_dataschema": "https://example.com/schema", "ce_time": "2026-11-23T10:00:00.000000005Z", "ce_partitionkey": "p",
			},
			Payload: []byte(`{"number":7}`),
		},
		cloudevents.AMQP: {
			Metadata: map[string]string{
				"content-type": "application/json", "cloudEvents_specversion": "1.0", "cloudEvents_id": "i 1", "cloudEvents_source": "/other",
				"cloudEvents_type": "t", "cloudEvents_subject": `Grüße "100%"`, "cloudEvents_dataschema": "https://example.com/schema",
				"cloudEvents_time": "2026-11-23T10:00:00.000000005Z", "cloudEvents_partitionkey": "p", "own": "1",
			},
			Payload: []byte(`{"number":7}`),
		},
		cloudevents.NATS: {
			Metadata: map[string]string{
				"ce-datacontenttype": "application/json", "ce-specversion": "1.0", "ce-id": "i%201", "ce-source": "/other", "ce-type": "t", "own": "1",
				"ce-subject": "Gr%C3%BC%C3%9Fe%20%22100%25%22", "ce-dataschema": "https://example.com/schema",
				"ce-time": "2026-11-23T10:00:00.000000005Z", "ce-partitionkey": "p",
			},
			Payload: []byte(`{"number":7}`),
		},
	} {
		c := made(t, cloudevents.Options{Mode: mode})
		own := map[string]string{"own": "1"}
		got, err := headrace.Event{Topic: "orders", Value: full(), Metadata: own}.Encode(c)
		if err != nil {
			t.Errorf("mode %d: %v", mode, err)
			continue
		}
		want.ID, want.Topic = "i 1", "orders"
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("mode %d (-want +got):\n%s", mode, diff)
		}
		if len(own) != 1 {
			t.Errorf("mode %d: the metadata of the caller was changed: %q", mode, own)
		}
		d := &headrace.Delivery{Payload: got.Payload, Metadata: got.Metadata}
		for _, reader := range []cloudevents.Mode{cloudevents.Structured, cloudevents.NATS} {
			var back event.Event
			if err := made(t, cloudevents.Options{Mode: reader}).DecodeDelivery(d, &back); err != nil {
				t.Errorf("mode %d: decode: %v", mode, err)
			}
			if back.String() != full().String() {
				t.Errorf("mode %d: got\n%s\nwant\n%s", mode, back, full())
			}
		}
		if key, err := inbox.CloudEvents()(d); err != nil || key == "" {
			t.Errorf("mode %d: key %q: %v", mode, key, err)
		}
	}
}

// A value of any type is the data; id, source and type come from the event and the options.
func TestAnyValue(t *testing.T) {
	for mode := cloudevents.Structured; mode <= cloudevents.NATS; mode++ {
		c := made(t, cloudevents.Options{Mode: mode})
		e, err := headrace.Event{ID: "1", Topic: "orders.placed", Value: order{7}}.Encode(c)
		if err != nil {
			t.Fatal(err)
		}
		d := &headrace.Delivery{Payload: e.Payload, Metadata: e.Metadata}
		var whole event.Event
		var data order
		if err := errors.Join(c.DecodeDelivery(d, &whole), c.DecodeDelivery(d, &data)); err != nil {
			t.Fatal(err)
		}
		if e.ID != "1" || whole.ID() != "1" || whole.Source() != "/shop" || whole.Type() != "orders.placed" || data.Number != 7 {
			t.Errorf("mode %d: %s %+v", mode, whole, data)
		}
	}
	c := made(t, cloudevents.Options{Data: codec.Raw(), Type: func(headrace.Event) string { return "raw" }})
	e, err := headrace.Event{Topic: "t", Value: []byte{0, 1}}.Encode(c)
	if err != nil || !strings.Contains(string(e.Payload), `"data_base64":"AAE="`) || e.ID == "" {
		t.Errorf("raw data: %s, id %q, %v", e.Payload, e.ID, err)
	}
	var raw []byte
	if err := c.Decode(e.Payload, &raw); err != nil || string(raw) != "\x00\x01" {
		t.Errorf("raw data: %q, %v", raw, err)
	}
}

// A Payload and a Tombstone are published unchanged.
func TestPayloadIsUnchanged(t *testing.T) {
	c := made(t, cloudevents.Options{})
	for _, e := range []headrace.Event{{ID: "1", Topic: "t", Payload: []byte("x")}, {ID: "1", Topic: "t", Tombstone: true}} {
		got, err := e.Encode(c)
		if diff := cmp.Diff(e, got); diff != "" || err != nil {
			t.Errorf("%v %s", err, diff)
		}
	}
}

// What is no CloudEvent is undecodable, and the error shows no value of it.
func TestUndecodable(t *testing.T) {
	const secret = "s3cret"
	ce := func(members string) string {
		return `{"specversion":"1.0","id":"1","source":"/s","type":"t"` + members + `}`
	}
	for name, c := range map[string]struct {
		metadata      map[string]string
		payload, want string
	}{
		"nothing":      {nil, "", "not JSON"},
		"no event":     {nil, `{"name":"s3cret"}`, "no attribute specversion"},
		"an array":     {nil, `["s3cret"]`, "array"},
		"null":         {nil, "null", "no attribute specversion"},
		"null version": {nil, `{"specversion":null,"id":"s3cret"}`, "no attribute specversion"},
		"two values":   {nil, ce("") + "s3cret", "not JSON"},
		"cut":          {nil, ce("")[:20], "not JSON"},
		"no id":        {nil, `{"specversion":"1.0","source":"s3cret","type":"t"}`, "missing or not valid: id"},
		"bad time":     {nil, ce(`,"time":"s3cret"`), "field time: time in RFC 3339 expected, another value found at byte 62"},
		"version":      {nil, `{"specversion":"s3cret","id":"1"}`, "missing or not valid: specversion"},
		"data":         {nil, ce(`,"data":{"Number":"s3cret"}`), "field data.number: number expected, string found"},
		"no data":      {nil, ce(""), "field data: not JSON: the payload is empty"},
		"not base64":   {nil, ce(`,"data_base64":"s3cret!"`), "field data_base64: base64 expected"},
		"a number":     {nil, ce(`,"subject":5`), "field subject: string expected, number found"},
		"extension":    {nil, ce(`,"e":{"a":"s3cret"}`), "a value that no CloudEvent may have"},
		"batch":        {map[string]string{"content-type": "application/cloudevents-batch+json"}, "[]", "a batch"},
		"header id":    {map[string]string{"ce_specversion": "1.0", "ce_source": "/s", "ce_type": "t"}, "{}", "missing or not valid: id"},
		"header time":  {map[string]string{"ce_specversion": "1.0", "ce_id": "1", "ce_source": "/s", "ce_type": "t", "ce_time": secret}, "{}", "the attribute time is not in RFC 3339"},
		"header 0.3":   {map[string]string{"ce-specversion": "0.3", "ce-id": secret}, "{}", "other than 1.0"},
		"header data":  {map[string]string{"ce_specversion": "1.0", "ce_id": "1", "ce_source": "/s", "ce_type": "t"}, `{"number":"s3cret"}`, "field number: number expected, string found at byte 10"},
		"bad name":     {map[string]string{"ce_specversion": "1.0", "ce_id": "1", "ce_source": "/s", "ce_type": "t", "ce_a-b": secret}, "{}", "missing or not valid: extension:a-b"},
		"content type": {map[string]string{"ce_specversion": "1.0", "ce_id": "1", "ce_source": "/s", "ce_type": "t", "content-type": ";s3cret"}, "{}", "missing or not valid: datacontenttype"},
	} {
		var o order
		err := made(t, cloudevents.Options{}).DecodeDelivery(&headrace.Delivery{Payload: []byte(c.payload), Metadata: c.metadata}, &o)
		if !errors.Is(err, codec.ErrUndecodable) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	for want, c := range map[string]struct {
		source string
		o      cloudevents.Options
	}{
		"the source is empty":     {},
		"not a URI reference":     {source: ":"},
		"option Mode is 4; there": {source: "/s", o: cloudevents.Options{Mode: 4}},
	} {
		if _, err := cloudevents.New(c.source, c.o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	c := made(t, cloudevents.Options{Type: func(headrace.Event) string { return "" }})
	if _, err := (headrace.Event{Topic: "t", Value: 1}).Encode(c); !errors.Is(err, headrace.ErrInvalidEvent) || !strings.Contains(err.Error(), "type") {
		t.Errorf("an event without a type: %v", err)
	}
	if _, err := c.Encode(make(chan int)); err == nil {
		t.Error("a channel has no JSON form")
	}
}
