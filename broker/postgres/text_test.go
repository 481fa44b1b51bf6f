package postgres_test

import (
	"maps"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/broker/postgres"
)

// Rule: never one id for two messages. What PostgreSQL refuses as text comes back as it was,
// as an id, as an order key, and in metadata; and so does what looks like its substitute.
// Guards: text, untext.
func TestTextComesBackAsItWas(t *testing.T) {
	s := setup(t)
	db, err := s.open("")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	topic := "hr-text-" + time.Now().Format("150405.000000")
	from, err := s.Source("")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = from.Close() }()
	messages, err := from.Subscribe(t.Context(), topic)
	if err != nil {
		t.Fatal(err)
	}
	to, err := postgres.NewSink(postgres.SinkOptions{DB: db, Schema: schema})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = to.Close() }()
	for _, word := range []string{
		"x\xff1", "x\xfe1", "x\ufffd1", "x\x001", "x1", "\xed\xa0\x80", "\ufffe\U0010ffff", `\u0000`, "\u2028<&>",
		"base64:", "base64:eP8x", "base64:eDE=", "base64:YmFzZTY0OmVQOHg=", "base64:no base64",
	} {
		m := message.NewMessage(word, []byte("x"))
		m.Metadata = message.Metadata{"a": word, word: "b"}
		m.SetContext(headrace.WithArrival(t.Context(), headrace.Arrival{OrderKey: word}))
		if err := to.Publish(topic, m); err != nil {
			t.Errorf("%q: %v", word, err)
			continue
		}
		got := next(t, messages)
		got.Ack()
		if got.UUID != word {
			t.Errorf("%q came with the id %q", word, got.UUID)
		}
		if key := headrace.ArrivalFrom(got.Context()).OrderKey; key != word {
			t.Errorf("%q came with the order key %q", word, key)
		}
		if !maps.Equal(got.Metadata, m.Metadata) {
			t.Errorf("%q came with the metadata %q", word, got.Metadata)
		}
	}
}

// Ids that others wrote stay distinct too: of what looks like a substitute only that is
// read as one which Publish would have written.
func TestIdsOfOthersStayDistinct(t *testing.T) {
	s := setup(t)
	topic := "hr-ids-" + time.Now().Format("150405.000000")
	from, err := s.Source("")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = from.Close() }()
	messages, err := from.Subscribe(t.Context(), topic)
	if err != nil {
		t.Fatal(err)
	}
	db, err := s.open("")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	for id, want := range map[string]string{
		"x1": "x1", "base64:eDE=": "base64:eDE=", "base64:eP8x": "x\xff1", "base64:eP8y": "x\xff2", "base64:eP8z\n": "base64:eP8z\n", "base64:": "base64:",
	} {
		if _, err := db.ExecContext(t.Context(), insertMetadata, topic, []byte("x"), "{}", id); err != nil {
			t.Fatal(err)
		}
		m := next(t, messages)
		m.Ack()
		if m.UUID != want {
			t.Errorf("%q came as %q, want %q", id, m.UUID, want)
		}
	}
}
