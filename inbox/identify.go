package inbox

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

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
		Coordinates: a.Coordinates, Time: a.Time, OrderKey: a.OrderKey, Trace: headrace.TraceFrom(metadata),
		Attempt: 1, ReceivedAt: time.Now(),
	}
}

// Identify sets d's Key and Fingerprint with the functions. If one fails or panics,
// Identify returns an error; no handler can take d then. d then gets the fingerprint of
// its payload, and if it has no key, a stand-in key, the same for every delivery of the
// message. changes reports whether a redelivery may add or change the header of that name
// (see consumer.Redeliverer); nil means that it changes none.
func Identify(d *headrace.Delivery, key KeyFunc, fingerprint FingerprintFunc, changes func(header string) bool) error {
	err := identify(d, key, fingerprint)
	if err == nil {
		return nil
	}
	if d.Key == "" {
		d.Key = standInKey(d, changes)
	}
	d.Fingerprint, _ = Payload()(d) // never fails: bytes have a hash
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
		return fmt.Errorf("fingerprint: %w: the function panicked (%T)", ErrMalformed, p.Value)
	}
	if err == nil {
		if err = encode.Check("it", d.Fingerprint, MaxFingerprintBytes); err != nil {
			err = fmt.Errorf("%w: %w", ErrMalformed, err)
		}
	}
	if err != nil {
		return fmt.Errorf("fingerprint: %w", err)
	}
	return nil
}

// Intent is Coordinates.Broker of the deliveries that package intent makes. They come with a
// key of their caller's, so the handler's key function is asked before one is handled.
const Intent = "intent"

// standIn begins each stand-in key, and no other key.
const standIn = "stand-in:"

// IsStandIn reports whether key is a stand-in: the message's own key could not be
// computed. A dead letter is stored under it. When the letter is redriven, its handler is
// asked for the key again.
func IsStandIn(key string) bool { return strings.HasPrefix(key, standIn) }

// standInKey returns the stand-in key of d: its position on the broker, or else a hash of
// all that a redelivery keeps. Equal messages without a position have the same key.
func standInKey(d *headrace.Delivery, changes func(header string) bool) string {
	if key, err := Position()(d); err == nil {
		return standIn + encode.Fit(key, MaxKeyBytes-len(standIn))
	}
	h := sha256.New()
	add := func(text string) { fmt.Fprintf(h, "%d:%s", len(text), text) } // no two lists give the same bytes
	add(d.ID)
	if d.Payload != nil {
		add(string(d.Payload))
	}
	for _, name := range slices.Sorted(maps.Keys(d.Metadata)) {
		if changes == nil || !changes(name) {
			add(name)
			add(d.Metadata[name])
		}
	}
	return standIn + "sha256:" + hex.EncodeToString(h.Sum(nil))
}
