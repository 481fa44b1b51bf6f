package cloudevents

import (
	"encoding/json"
	"errors"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/cloudevents/sdk-go/v2/types"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/codec"
	"github.com/headrace/headrace/internal/header"
)

// Decode implements codec.Codec for a structured event.
func (c *Codec) Decode(payload []byte, into any) error {
	return c.DecodeDelivery(&headrace.Delivery{Payload: payload}, into)
}

// DecodeDelivery implements codec.DeliveryDecoder. It reads the data into the value that
// into points to, or the whole event if that is an event.Event.
func (c *Codec) DecodeDelivery(d *headrace.Delivery, into any) error {
	ce, err := read(d)
	if err != nil {
		return err
	}
	if err := ce.Validate(); err != nil {
		return invalid(err)
	}
	if whole, ok := into.(*event.Event); ok {
		*whole = ce
		return nil
	}
	err = c.options.Data.Decode(ce.Data(), into)
	if e, ok := errors.AsType[*codec.Error](err); ok && len(ce.Data()) < len(d.Payload) { // else the payload is the data
		return &codec.Error{Offset: -1, Field: strings.TrimSuffix("data."+e.Field, "."), Reason: e.Reason}
	}
	return err
}

// read returns the event of d, which may be invalid.
func read(d *headrace.Delivery) (event.Event, error) {
	kind := header.ContentType(d.Metadata)
	if header.IsMediaType(kind, header.StructuredEvent) {
		return readStructured(d.Payload)
	}
	if attributes := readHeaders(d); attributes[version] != "" {
		return readBinary(attributes, kind, d.Payload)
	}
	if strings.HasPrefix(kind, "application/cloudevents") {
		return event.Event{}, &codec.Error{Offset: -1, Reason: "a CloudEvent in a format other than JSON, or a batch"}
	}
	return readStructured(d.Payload)
}

func readStructured(payload []byte) (event.Event, error) {
	var ce event.Event
	var refused error
	if json.Valid(payload) { // the SDK is content with less
		if refused = ce.UnmarshalJSON(payload); refused == nil {
			return ce, nil
		}
	}
	var has attributes
	if err := codec.JSON().Decode(payload, &has); err != nil {
		return ce, err
	}
	if has.Version == nil {
		return ce, &codec.Error{Offset: -1, Reason: "not a CloudEvent: there is no attribute specversion, neither as a member nor as a header"}
	}
	return ce, invalid(refused)
}

// attributes say where the SDK's errors do not which one has no valid value.
type attributes struct {
	Version *string   `json:"specversion"`
	ID      string    `json:"id"`
	Source  string    `json:"source"`
	Type    string    `json:"type"`
	Subject string    `json:"subject"`
	Time    time.Time `json:"time"`
	Kind    string    `json:"datacontenttype"`
	Schema  string    `json:"dataschema"`
	Data    []byte    `json:"data_base64"`
}

// readHeaders returns the attributes that d has in its headers, by any binding.
func readHeaders(d *headrace.Delivery) map[string]string {
	attributes := map[string]string{}
	for name, value := range d.Metadata {
		attribute, i, ok := header.EventAttribute(name)
		if !ok {
			continue
		}
		if header.EventPrefixes[i] == header.EventHTTP {
			if decoded, err := url.PathUnescape(value); err == nil {
				value = decoded
			}
		}
		attributes[strings.ToLower(attribute)] = value
	}
	return attributes
}

func readBinary(attributes map[string]string, kind string, payload []byte) (event.Event, error) {
	if attributes[version] != event.CloudEventsVersionV1 {
		return event.Event{}, &codec.Error{Offset: -1, Reason: "a CloudEvent of a specversion other than 1.0"}
	}
	ce := event.New()
	delete(attributes, version)
	if kind != "" {
		ce.SetDataContentType(kind)
	}
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		value := attributes[name]
		switch name {
		case "id":
			ce.SetID(value)
		case "source":
			ce.SetSource(value)
		case "type":
			ce.SetType(value)
		case "subject":
			ce.SetSubject(value)
		case "dataschema":
			ce.SetDataSchema(value)
		case dataType:
			ce.SetDataContentType(value)
		case "time":
			if err := setTime(&ce, value); err != nil {
				return ce, err
			}
		default:
			ce.SetExtension(name, value)
		}
	}
	ce.DataEncoded = payload
	return ce, nil
}

// invalid names the attributes of a validation error, whose text may quote values.
func invalid(err error) error {
	reason := "not a valid CloudEvent: an attribute has a value that no CloudEvent may have"
	if fields, ok := errors.AsType[event.ValidationError](err); ok {
		reason = "not a valid CloudEvent: missing or not valid: " + strings.Join(slices.Sorted(maps.Keys(fields)), ", ")
	}
	return &codec.Error{Offset: -1, Reason: reason}
}

func setTime(ce *event.Event, value string) error {
	at, err := types.ParseTime(value)
	if err != nil {
		return &codec.Error{Offset: -1, Reason: "not a valid CloudEvent: the attribute time is not in RFC 3339"}
	}
	ce.SetTime(at)
	return nil
}
