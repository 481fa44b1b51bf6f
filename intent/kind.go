package intent

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/codec"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/encode"
)

// Kind says what an intent with a value T is: whose handler does it, which key it has, and when
// two are the same. The consumer registers its handler with Option, and other programs start
// intents with the same Kind, so that an intent has the same key from every source. It is safe
// for concurrent use; its fields must not change.
type Kind[T any] struct {
	// Consumer and Handler name the consumer and its handler, as in consumer.New and
	// consumer.Name. Required.
	Consumer, Handler string
	// Key is the handler's key function: an intent has the same key as a message from
	// another source with the same content. Default: Request.Owner and Request.Key, joined so
	// that no two pairs give one key. With the default, messages of the handler from other
	// sources need the headers OwnerHeader and KeyHeader.
	Key inbox.KeyFunc
	// SameWhen is the handler's fingerprint of the content: the same key with another one is
	// a conflict. Default: inbox.Payload.
	SameWhen inbox.FingerprintFunc
	// Codec encodes values, and decodes them for the handler. Default: codec.JSON to encode,
	// and the consumer's own to decode.
	Codec codec.Codec
}

// Request asks for an intent.
type Request[T any] struct {
	// Owner says whom the intent belongs to, such as a tenant, and Key names it among the
	// owner's. Both are required where the Kind has no Key, and otherwise may be empty. Key is
	// also the message's id.
	Owner, Key string
	// Value is what the handler gets.
	Value T
	// OrderKey names the intents that must be handled in the order of their starts; "" means
	// any order. One that fails holds up the later ones, until it is applied or a dead letter.
	OrderKey string
	// Time is when happened what the intent is about; zero if unknown.
	Time time.Time
	// Metadata become the message's headers. Names that begin with "headrace-intent-" are
	// refused. May be nil.
	Metadata map[string]string
}

// The headers in which a message has Request.Owner and Request.Key.
const (
	OwnerHeader = "headrace-intent-owner"
	KeyHeader   = "headrace-intent-key"
	reserved    = "headrace-intent-"
)

// OriginHeader is the header in which a program may say why it starts an intent; package
// reconcile writes "reconcile".
const OriginHeader = "headrace-origin"

// ErrInvalid matches the error of a Request that cannot be started: it has no key, or one
// that the rules of package inbox refuse, or its value cannot be encoded.
var ErrInvalid = errors.New("invalid intent")

// Option registers the handler as that of the Kind: with its name, key and fingerprint. So
// the options consumer.Name, consumer.Key and consumer.SameWhen (and consumer.Codec, if the
// Kind has a Codec) must not be given beside it. Run refuses the Kind of another consumer.
func (k Kind[T]) Option() consumer.Option {
	return consumer.Intents(k.Consumer, k.Handler, k.key(), k.sameWhen(), k.Codec)
}

// Scope returns the scope of the keys: the consumer and the handler.
func (k Kind[T]) Scope() string { return k.Consumer + "/" + k.Handler }

// Delivery returns the message that Start commits for r, with its Scope, Key and
// Fingerprint. Nothing is started. The error matches ErrInvalid.
func (k Kind[T]) Delivery(r Request[T]) (headrace.Delivery, error) {
	d, err := k.delivery(r)
	if err != nil {
		return headrace.Delivery{}, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return d, nil
}

func (k Kind[T]) delivery(r Request[T]) (d headrace.Delivery, err error) {
	if err := k.validate(); err != nil {
		return d, err
	}
	for name := range r.Metadata {
		if strings.HasPrefix(strings.ToLower(name), reserved) {
			return d, fmt.Errorf("metadata named %q: names that begin with %q are not for callers", name, reserved)
		}
	}
	c := k.Codec
	if c == nil {
		c = codec.JSON()
	}
	payload, err := c.Encode(r.Value)
	if err != nil {
		return d, fmt.Errorf("encode the value: %w", err)
	}
	metadata := map[string]string{headrace.ContentTypeHeader: c.ContentType()}
	maps.Copy(metadata, r.Metadata)
	for name, value := range map[string]string{OwnerHeader: r.Owner, KeyHeader: r.Key} {
		if value != "" {
			metadata[name] = value
		}
	}
	d = headrace.Delivery{
		Scope: k.Scope(), ID: r.Key, Topic: k.Handler, Payload: payload, Metadata: metadata, Time: r.Time,
		Coordinates: headrace.Coordinates{Broker: inbox.Intent}, OrderKey: encode.Fit(r.OrderKey, inbox.MaxKeyBytes),
		Trace: headrace.TraceFrom(metadata), Attempt: 1, ReceivedAt: time.Now(),
	}
	return d, inbox.Identify(&d, k.key(), k.sameWhen(), nil)
}

// validate returns an error for a Kind whose intents no handler would get.
func (k Kind[T]) validate() error {
	if err := encode.ConsumerName(k.Consumer); err != nil {
		return fmt.Errorf("Kind.Consumer: %w", err)
	}
	if err := encode.Name("Kind.Handler", k.Handler); err != nil {
		return err
	}
	return nil
}

func (k Kind[T]) key() inbox.KeyFunc {
	if k.Key != nil {
		return k.Key
	}
	return inbox.Join(inbox.Header(OwnerHeader), inbox.Header(KeyHeader))
}

func (k Kind[T]) sameWhen() inbox.FingerprintFunc {
	if k.SameWhen != nil {
		return k.SameWhen
	}
	return inbox.Payload()
}
