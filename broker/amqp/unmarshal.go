package amqp

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ThreeDotsLabs/watermill/message"
	amqp091 "github.com/rabbitmq/amqp091-go"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/broker/internal/flow"
)

// idHeader contains Watermill's id of a message, as in the official adapter.
const idHeader = "_watermill_message_uuid"

// OwnHeaderPrefix is put before the name of a sender's header that equals one of the
// names below, or begins with this prefix.
const OwnHeaderPrefix = "amqp-header-"

// Names of the metadata entries for data of a delivery that is not in its headers.
const (
	// RedeliveredKey is "true" if the broker has delivered the message before, as in the
	// official adapter. For a quorum queue the header x-delivery-count says how often.
	RedeliveredKey = "_watermill_amqp_redelivered"

	// ExchangeKey and RoutingKeyKey say where the message was published, unless that was
	// the queue itself.
	ExchangeKey   = "amqp-exchange"
	RoutingKeyKey = "amqp-routing-key"
	// MessageIDKey is the property message-id if it is not the message's id. The others
	// are properties, if set.
	MessageIDKey     = "amqp-message-id"
	CorrelationIDKey = "amqp-correlation-id"
	ReplyToKey       = "amqp-reply-to"
	TypeKey          = "amqp-type"
	AppIDKey         = "amqp-app-id"
	UserIDKey        = "amqp-user-id"
	ExpirationKey    = "amqp-expiration" // milliseconds
	PriorityKey      = "amqp-priority"
	// ContentTypeKey and ContentEncodingKey are the properties if headers called
	// content-type and content-encoding differ; otherwise the properties have those
	// names.
	ContentTypeKey     = "amqp-content-type"
	ContentEncodingKey = "amqp-content-encoding"
)

// contentTypeKey and contentEncodingKey are also properties, under the names that codecs
// and CloudEvents use; a header of that name takes precedence.
const (
	contentTypeKey     = "content-type"
	contentEncodingKey = "content-encoding"
)

// errUnreadable is why a delivery is unreadable: the unreadable headers may contain its
// id, or data that the handler needs.
var errUnreadable = errors.New("its headers are nested too deeply, too many, or of unknown types")

// unmarshal makes a message of any delivery. It never fails: see text.
func unmarshal(ctx context.Context, queue string, d *amqp091.Delivery) *message.Message {
	id, _ := d.Headers[idHeader].(string)
	if id == "" {
		id = d.MessageId
	}
	m := message.NewMessage(id, flow.Payload(d.Body))
	for name, value := range d.Headers {
		if _, isText := value.(string); name == idHeader && isText {
			continue
		}
		if factNames[name] || strings.HasPrefix(name, OwnHeaderPrefix) {
			name = OwnHeaderPrefix + name
		}
		m.Metadata[name] = text(value)
	}
	facts(m, queue, d)
	arrival := headrace.Arrival{Coordinates: headrace.Coordinates{Broker: "amqp", Topic: queue, Position: id}, Time: d.Timestamp}
	if _, replaced := d.Headers[unreadableHeader].([]byte); replaced {
		arrival.Unreadable = errUnreadable
	}
	m.SetContext(headrace.WithArrival(ctx, arrival))
	return m
}

// factNames are the names that facts may set.
var factNames = map[string]bool{
	RedeliveredKey: true, ExchangeKey: true, RoutingKeyKey: true, MessageIDKey: true, CorrelationIDKey: true, ReplyToKey: true,
	TypeKey: true, AppIDKey: true, UserIDKey: true, ExpirationKey: true, PriorityKey: true,
	ContentTypeKey: true, ContentEncodingKey: true,
}

// facts puts data that is not in the headers into metadata. It leaves out redundant data,
// so that a message of our sink comes with its original metadata.
func facts(m *message.Message, queue string, d *amqp091.Delivery) {
	redelivered, priority, key, messageID := "", "", d.RoutingKey, d.MessageId
	if d.Exchange == "" && key == queue {
		key = ""
	}
	if messageID == m.UUID {
		messageID = ""
	}
	if d.Redelivered {
		redelivered = "true"
	}
	if d.Priority > 0 {
		priority = strconv.Itoa(int(d.Priority))
	}
	for _, p := range []struct{ name, value string }{
		{RedeliveredKey, redelivered}, {ExchangeKey, d.Exchange}, {RoutingKeyKey, key},
		{MessageIDKey, messageID}, {CorrelationIDKey, d.CorrelationId}, {ReplyToKey, d.ReplyTo}, {TypeKey, d.Type},
		{AppIDKey, d.AppId}, {UserIDKey, d.UserId}, {ExpirationKey, d.Expiration},
		{PriorityKey, priority},
	} {
		if p.value != "" {
			m.Metadata[p.name] = p.value
		}
	}
	for _, p := range []struct{ name, other, value string }{
		{contentTypeKey, ContentTypeKey, d.ContentType}, {contentEncodingKey, ContentEncodingKey, d.ContentEncoding},
	} {
		switch header, has := m.Metadata[p.name]; {
		case p.value == "" || header == p.value:
		case has:
			m.Metadata[p.other] = p.value
		default:
			m.Metadata[p.name] = p.value
		}
	}
}

// clock returns t in RFC 3339, the seconds since 1970 if the year does not have four
// digits, and "" for the zero time.
func clock(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	if t = t.UTC(); t.Year() < 0 || t.Year() > 9999 {
		return strconv.FormatInt(t.Unix(), 10)
	}
	return t.Format(time.RFC3339)
}

// text renders the value of a header. Strings and byte arrays stay unchanged; numbers are
// decimal, times RFC 3339, nil is ""; arrays and tables become JSON with sorted names. It
// is stable: equal values give equal text.
func text(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case []byte:
		return string(v)
	case nil:
		return ""
	case time.Time:
		return clock(v)
	case amqp091.Decimal:
		return decimal(v)
	case amqp091.Table, []any:
		b, err := json.Marshal(plain(v))
		if err != nil { // the protocol has no such values
			return fmt.Sprint(v)
		}
		return string(b)
	case float32:
		return strconv.FormatFloat(float64(v), 'g', -1, 32)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return fmt.Sprint(value) // the integers and bool
}

// plain returns the form for encoding/json of a value inside a table or an array: text
// that is not UTF-8 becomes {"base64": …}, and a number that JSON lacks becomes text.
func plain(value any) any {
	switch v := value.(type) {
	case amqp091.Table:
		object := make(map[string]any, len(v))
		for name, field := range v {
			object[name] = plain(field)
		}
		return object
	case []any:
		list := make([]any, len(v))
		for i, field := range v {
			list[i] = plain(field)
		}
		return list
	case string:
		return words([]byte(v))
	case []byte:
		return words(v)
	case nil, bool, int8, byte, int16, uint16, int32, uint32, int64:
		return v
	case float32:
		return plain(float64(v))
	case float64:
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			return v
		}
	}
	return text(value)
}

func words(b []byte) any {
	if utf8.Valid(b) {
		return string(b)
	}
	return map[string]string{"base64": base64.StdEncoding.EncodeToString(b)}
}

// decimal renders 12345 with the scale 2 as 123.45.
func decimal(d amqp091.Decimal) string {
	digits, sign := strconv.FormatInt(int64(d.Value), 10), ""
	if d.Value < 0 {
		digits, sign = digits[1:], "-"
	}
	for len(digits) <= int(d.Scale) {
		digits = "0" + digits
	}
	if d.Scale == 0 {
		return sign + digits
	}
	point := len(digits) - int(d.Scale)
	return sign + digits[:point] + "." + digits[point:]
}
