package consumer

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/group"
)

// resolver turns a received message into a task: key, order key, fingerprint, body.
// It never fails: what cannot be resolved becomes a task that ends as an undecodable
// dead letter, with the message whole.
type resolver struct {
	handler     *group.Handler
	key         inbox.KeyFunc
	fingerprint inbox.FingerprintFunc
	orderKey    func(*headrace.Delivery) string
}

func (r resolver) task(m *message.Message) *group.Task {
	metadata := map[string]string(m.Metadata)
	if metadata == nil {
		metadata = make(map[string]string)
	}
	t := &group.Task{Context: m.Context(), Delivery: headrace.Delivery{
		Scope: r.handler.Scope, ID: m.UUID, Topic: r.handler.Topic, Payload: m.Payload, Metadata: metadata,
		Coordinates: headrace.CoordinatesFrom(m.Context()), Trace: headrace.TraceFrom(metadata),
		Attempt: 1, ReceivedAt: time.Now(),
	}}
	t.Bad = contain("resolve the message", func() error { return r.resolve(t) })
	if t.Bad != nil {
		r.fallBack(&t.Delivery)
	}
	return t
}

func (r resolver) resolve(t *group.Task) (err error) {
	d := &t.Delivery
	if d.Key, err = inbox.Resolve(r.key, d); err != nil {
		return fmt.Errorf("key: %w", err)
	}
	if d.Fingerprint, err = r.fingerprint(d); err != nil {
		return fmt.Errorf("fingerprint: %w", err)
	}
	d.OrderKey = orderKey(r.orderKey(d))
	t.Body, err = r.handler.Decode(d)
	return err
}

// orderKey makes any bytes fit: what order keys are equal is all that counts.
func orderKey(key string) string {
	if len(key) <= inbox.MaxKeyBytes && encode.Clean(key) {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// fallBack gives a message that no handler can be given a key under which it can
// be kept: what was resolved, else its own id, else its place on the broker, else a
// random one, because two messages must never fall together.
func (r resolver) fallBack(d *headrace.Delivery) {
	if d.Key == "" {
		own := inbox.First(inbox.MessageID(), inbox.Position())
		key, err := inbox.Resolve(own, d)
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
		d.Fingerprint, _ = inbox.Payload()(d) // never fails: bytes have a hash
	}
}

// contain turns a panic of the user's functions into an error.
func contain(what string, f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%s: panic of type %T", what, v)
		}
	}()
	return f()
}
