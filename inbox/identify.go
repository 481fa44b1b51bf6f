package inbox

import (
	"fmt"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/attempt"
	"github.com/headrace/headrace/internal/encode"
)

// Received returns m as a delivery for the handler of scope. It has no key yet: see
// Identify. It shares its payload and metadata with m.
func Received(m *message.Message, scope, topic string) headrace.Delivery {
	metadata := map[string]string(m.Metadata)
	if metadata == nil {
		metadata = make(map[string]string)
	}
	a := headrace.ArrivalFrom(m.Context())
	return headrace.Delivery{
		Scope: scope, ID: m.UUID, Topic: topic, Payload: m.Payload, Metadata: metadata,
		Coordinates: a.Coordinates, OrderKey: a.OrderKey, Trace: headrace.TraceFrom(metadata),
		Attempt: 1, ReceivedAt: time.Now(),
	}
}

// Identify sets d's Key and Fingerprint with the functions. If one fails or panics,
// Identify returns an error; no handler can take d then. d then gets a key to store it
// under: the key found, otherwise the message's own id, otherwise its position on the
// broker, otherwise a random key; and the fingerprint of the payload.
func Identify(d *headrace.Delivery, key KeyFunc, fingerprint FingerprintFunc) error {
	err := identify(d, key, fingerprint)
	if err != nil {
		fallBack(d)
	}
	return err
}

func identify(d *headrace.Delivery, key KeyFunc, fingerprint FingerprintFunc) (err error) {
	if d.Key, err = Resolve(key, d); err != nil {
		return fmt.Errorf("key: %w", err)
	}
	p, err := attempt.Catch(func() (err error) {
		d.Fingerprint, err = fingerprint(d)
		return err
	})
	if p != nil {
		d.Fingerprint = ""
		return fmt.Errorf("fingerprint: %w: the function panicked (%T)", ErrMalformed, p.Value)
	}
	if err == nil {
		if err = encode.Check("it", d.Fingerprint, MaxFingerprintBytes); err != nil {
			err = fmt.Errorf("%w: %w", ErrMalformed, err)
		}
	}
	if err != nil {
		d.Fingerprint = ""
		return fmt.Errorf("fingerprint: %w", err)
	}
	return nil
}

// fallBack sets d's Key and Fingerprint if they were not found.
func fallBack(d *headrace.Delivery) {
	if d.Key == "" {
		key, err := Resolve(First(MessageID(), Position()), d)
		switch {
		case err == nil:
			d.Key = key
		case d.ID != "":
			d.Key = encode.Fit(d.ID, 0) // a hash
		default:
			d.Key = "unknown:" + uuid.NewString()
		}
	}
	if d.Fingerprint == "" {
		d.Fingerprint, _ = Payload()(d) // never fails: bytes have a hash
	}
}
