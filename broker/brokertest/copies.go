package brokertest

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/retry"
)

// copies: a reader without headrace finds in the copy of a dead letter what it needs to handle
// the message: its bytes and headers, and where it came from, when, and why it failed.
//
//evidence:copies
func copies(s *bundle) {
	dead := s.newTopic()
	s.create(dead)
	sent := Record{ID: "order-7-" + s.topic, Key: "customer-7", Payload: bodyOf(7), Headers: map[string]string{"shop": "north"}}
	s.send(sent)
	fails := func(context.Context, *headrace.Tx, *headrace.Message[body]) error {
		return retry.Permanent(errors.New("out of stock"))
	}
	s.work("", fails, func(c *consumer.Config) {
		c.Sink, c.DeadLetterTopic = s.sink(""), func(string) string { return dead }
	})
	ctx, cancel := s.bounded()
	defer cancel()
	got, err := s.b.Read(ctx, dead)
	if err != nil {
		s.Fatalf("read the copy: %v", err)
	}
	letters := s.letters(1)
	want, d := map[string]string{"shop": "north"}, letters[0].Delivery
	for name, value := range map[string]string{
		dlq.HeaderLetter: strconv.FormatInt(letters[0].LetterID, 10), dlq.HeaderClass: "permanent", dlq.HeaderError: "out of stock", dlq.HeaderAttempts: "1",
		dlq.HeaderErrorFingerprint: letters[0].ErrorFingerprint, dlq.HeaderConsumer: name, dlq.HeaderHandler: s.topic, dlq.HeaderTopic: s.topic,
		dlq.HeaderPartition: d.Coordinates.Partition, dlq.HeaderPosition: d.Coordinates.Position, dlq.HeaderMessageID: d.ID, dlq.HeaderKey: d.Key,
	} {
		if value != "" {
			want[name] = value
		}
	}
	if s.f.Keys {
		want[dlq.HeaderOrderKey] = sent.Key
	}
	for name, value := range want {
		if got.Headers[name] != value {
			s.Errorf("%s is %q, want %q", name, got.Headers[name], value)
		}
	}
	if at, err := time.Parse(time.RFC3339, cmp.Or(got.Headers[dlq.HeaderTime], d.Time.Format(time.RFC3339))); err != nil || !at.Equal(d.Time) {
		s.Errorf("%s is %q, want %s", dlq.HeaderTime, got.Headers[dlq.HeaderTime], d.Time)
	}
	if string(got.Payload) != string(sent.Payload) || d.ID == "" && d.Coordinates.IsZero() || letters[0].ErrorFingerprint == "" {
		s.Errorf("payload %q of %+v", got.Payload, letters[0])
	}
	for _, header := range slices.Sorted(maps.Keys(got.Headers)) {
		s.Logf("%s: %s", header, got.Headers[header])
	}
}
