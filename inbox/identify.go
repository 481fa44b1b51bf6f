package inbox

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/attempt"
)

// Received returns the delivery that m is at the handler of scope. It has no key yet:
// see Identify. It shares its payload and metadata with m.
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

// Identify sets d's Key and Fingerprint to what the functions find. Where one finds
// nothing or panics, Identify returns why; then no handler can be given d, and what it
// gets is only to keep it under: what was found, else the
// message's own id, else its place on the broker, else a random key, because two
// messages must never fall together; and a hash of the payload.
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
	if err != nil {
		return fmt.Errorf("fingerprint: %w", err)
	}
	return nil
}

// fallBack sets those of d's Key and Fingerprint that were not found.
func fallBack(d *headrace.Delivery) {
	if d.Key == "" {
		key, err := Resolve(First(MessageID(), Position()), d)
		if err != nil && d.ID != "" {
			sum := sha256.Sum256([]byte(d.ID))
			key, err = "sha256:"+hex.EncodeToString(sum[:]), nil
		}
		if err != nil {
			key = "unknown:" + uuid.NewString()
		}
		d.Key = key
	}
	if d.Fingerprint == "" {
		d.Fingerprint, _ = Payload()(d) // never fails: bytes have a hash
	}
}
