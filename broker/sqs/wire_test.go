package sqs

import (
	"encoding/json"
	"fmt"
	"time"

	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"
	"github.com/headrace/headrace"
	"github.com/headrace/headrace/dlq"
	"pgregory.net/rapid"
)

// received is what SQS gives of o.
func received(o outgoing) *types.Message {
	m := &types.Message{Body: &o.body, MessageId: aws.String("sqs-id"), MessageAttributes: map[string]types.MessageAttributeValue{}}
	for name, value := range o.attributes {
		m.MessageAttributes[name] = types.MessageAttributeValue{DataType: aws.String(stringType), StringValue: &value}
	}
	return m
}

// What SQS takes, by its documentation, as a body or a value, and as a name.
var (
	taken       = regexp.MustCompile(`^[\t\n\r -\x{D7FF}\x{E000}-\x{FFFD}\x{10000}-\x{10FFFF}]+$`)
	takenName   = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,256}$`)
	refusedName = regexp.MustCompile(`(?i)^(aws|amazon)\.|^\.|\.$|\.\.`)
)

func takes(s string) bool { return utf8.ValidString(s) && taken.MatchString(s) }

// TestWhatIsSentComesBack: any payload, id and metadata, although SQS takes ten attributes,
// none empty, and only characters of XML. Guards: attributeName, legal, room, packed,
// writeBody.
func TestWhatIsSentComesBack(t *testing.T) {
	text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[a-zA-Z0-9_.-]{1,20}`), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
		rapid.SampledFrom([]string{"", "\uFFFE\uFFFF", "aws.x", "a..b", "\x00", "\xff", bodyBase64}))
	names := rapid.OneOf(rapid.StringMatching(`[a-z.]{1,5}`), rapid.StringMatching(`(aws|Amazon)\.[a-z]`),
		text.Filter(func(s string) bool { return !strings.HasPrefix(s, "_") }))
	rapid.Check(t, func(t *rapid.T) {
		m := message.NewMessage(text.Draw(t, "id"), []byte(text.Draw(t, "payload")))
		least := rapid.SampledFrom([]int{0, 8, 20}).Draw(t, "least") // on either side of SQS' ten
		m.Metadata = rapid.MapOfN(names, text, least, 20).Draw(t, "metadata")
		o := marshalOne(m)
		if len(o.attributes) > attributesMost {
			t.Fatalf("%d attributes", len(o.attributes))
		}
		for name, value := range o.attributes {
			if !takes(value) || !takenName.MatchString(name) || refusedName.MatchString(name) {
				t.Fatalf("SQS refuses attribute %q with %q", name, value)
			}
		}
		if !takes(o.body) {
			t.Fatalf("SQS refuses body %q", o.body)
		}
		got, a, _ := read(received(o), queue{name: "q"}, false)
		if a.Unreadable != nil {
			t.Fatal(a.Unreadable)
		}
		want := m.UUID
		if want == "" {
			want = "sqs-id"
		}
		if got.UUID != want {
			t.Fatalf("id %q instead of %q", got.UUID, want)
		}
		if string(got.Payload) != string(m.Payload) {
			t.Fatalf("payload %q instead of %q", got.Payload, m.Payload)
		}
		if diff := cmp.Diff(map[string]string(m.Metadata), map[string]string(got.Metadata)); diff != "" {
			t.Fatal(diff)
		}
	})
}

// TestAnythingIsRead: whatever attributes a foreign sender sets, reading gives a message.
func TestAnythingIsRead(t *testing.T) {
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{bodyBase64, "null", "[]", `[["a"]]`, `{"a":1}`}))
	names := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{BodyAttribute, MetadataAttribute, UUIDAttribute}))
	rapid.Check(t, func(t *rapid.T) {
		m := &types.Message{MessageAttributes: map[string]types.MessageAttributeValue{}}
		if rapid.Bool().Draw(t, "body") {
			m.Body = aws.String(text.Draw(t, "text"))
		}
		for name := range rapid.MapOf(names, rapid.Bool()).Draw(t, "names") {
			v := types.MessageAttributeValue{}
			switch rapid.IntRange(0, 3).Draw(t, "type") {
			case 0:
				v.DataType, v.StringValue = aws.String("Number.int"), aws.String(text.Draw(t, "value"))
			case 1:
				v.DataType, v.BinaryValue = aws.String("Binary.x"), rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")
			case 2:
				v.DataType, v.StringValue = aws.String("String"), aws.String(text.Draw(t, "value"))
			}
			m.MessageAttributes[name] = v
		}
		got, a, _ := read(m, queue{name: "q"}, rapid.Bool().Draw(t, "sns"))
		if got == nil || got.Metadata == nil {
			t.Fatal("no message")
		}
		if a.Unreadable != nil && string(got.Payload) != aws.ToString(m.Body) {
			t.Fatal("the raw body is gone")
		}
	})
}

// TestRead: how foreign attributes and SNS' envelope are shown.
func TestRead(t *testing.T) {
	m := &types.Message{
		MessageId: aws.String("m1"), Body: aws.String("%%%"),
		Attributes: map[string]string{"MessageGroupId": "g", "ApproximateReceiveCount": "3", "SentTimestamp": "1700000000000"},
		MessageAttributes: map[string]types.MessageAttributeValue{
			"n":           {DataType: aws.String("Number.int"), StringValue: aws.String("17")},
			"text":        {DataType: aws.String("Binary"), BinaryValue: []byte("héllo")},
			"bytes":       {DataType: aws.String("Binary.jpg"), BinaryValue: []byte{0xff, 0}},
			BodyAttribute: {DataType: aws.String("String"), StringValue: aws.String(bodyBase64)},
		},
	}
	got, a, facts := read(m, queue{name: "q.fifo"}, false)
	if a.Unreadable == nil || string(got.Payload) != "%%%" || got.UUID != "m1" {
		t.Errorf("a body that is no base64: %v, payload %q, id %q", a.Unreadable, got.Payload, got.UUID)
	}
	want := map[string]string{"n": "17", "text": "héllo", "bytes": "base64:/wA=", BodyAttribute: bodyBase64}
	if diff := cmp.Diff(want, map[string]string(got.Metadata)); diff != "" {
		t.Error(diff)
	}
	if facts.ReceiveCount != 3 || facts.Sent.Unix() != 1700000000 || facts.Group != "g" || a.OrderKey != "g" {
		t.Errorf("facts %+v, order key %q", facts, a.OrderKey)
	}
	if _, a, _ := read(m, queue{name: "q"}, false); a.OrderKey != "" {
		t.Error("a standard queue keeps no order, but there is an order key")
	}
	wrapped := &types.Message{MessageId: aws.String("m2"), Body: aws.String(`{"Type":"Notification","MessageId":"sns-1","TopicArn":"arn:aws:sns:x:1:t",
		"Message":"hello","MessageAttributes":{"a":{"Type":"String","Value":"b"},"c":{"Type":"Binary","Value":"/wA="}}}`)}
	got, _, _ = read(wrapped, queue{name: "q"}, true)
	if string(got.Payload) != "hello" || got.UUID != "sns-1" || got.Metadata["a"] != "b" || got.Metadata["c"] != "base64:/wA=" {
		t.Errorf("unwrapped: %q %q %v", got.Payload, got.UUID, got.Metadata)
	}
	got, _, _ = read(wrapped, queue{name: "q"}, false)
	if got.UUID != "m2" || !strings.HasPrefix(string(got.Payload), `{"Type"`) {
		t.Error("a body was unwrapped without being asked for")
	}
}

// TestBatches: ten at most, no more bytes than the limit, a group once on FIFO queues.
func TestBatches(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fifo := rapid.Bool().Draw(t, "fifo")
		var all []outgoing
		for i := range rapid.IntRange(1, 40).Draw(t, "n") {
			all = append(all, outgoing{index: i, bytes: rapid.IntRange(1, 100).Draw(t, "bytes"), group: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "group")})
		}
		next := 0
		for _, batch := range batches(all, fifo, 100) {
			bytes, groups := 0, map[string]bool{}
			for _, m := range batch {
				if m.index != next {
					t.Fatalf("message %d instead of %d", m.index, next)
				}
				next++
				bytes += m.bytes
				if fifo && groups[m.group] {
					t.Fatal("two of a group in one batch")
				}
				groups[m.group] = true
			}
			if len(batch) == 0 || len(batch) > 10 || bytes > 100 {
				t.Fatalf("a batch of %d with %d bytes", len(batch), bytes)
			}
		}
		if next != len(all) {
			t.Fatalf("%d of %d are sent", next, len(all))
		}
	})
}

// Of more than ten attributes those that readers in other languages need come first, and the
// rest is JSON.
func TestTheCopyOfALetterIsReadable(t *testing.T) {
	letter := dlq.Letter{LetterID: 7, Class: dlq.Exhausted, Consumer: "c", Handler: "h", Error: "refused", ErrorFingerprint: "f", Attempts: 5}
	letter.Delivery = headrace.Delivery{ID: "m", Key: "k", OrderKey: "o", Topic: "orders", Time: time.Unix(1_700_000_000, 0), Metadata: map[string]string{"content-type": "text/plain"}}
	for n := range 12 {
		letter.Delivery.Metadata[fmt.Sprintf("a-header-%d", n)] = "value"
	}
	letter.Delivery.Coordinates.Position = "sqs-id"
	m := message.NewMessage("copy", []byte("x"))
	m.Metadata = dlq.Copy(letter, "orders.dead").Metadata
	got := marshalOne(m).attributes
	for _, name := range []string{
		"content-type", dlq.HeaderClass, dlq.HeaderTopic, dlq.HeaderPosition, dlq.HeaderMessageID, dlq.HeaderTime, dlq.HeaderAttempts, dlq.HeaderErrorFingerprint,
	} {
		if got[name] == "" || got[name] != m.Metadata[name] {
			t.Errorf("attribute %s is %q", name, got[name])
		}
	}
	var rest map[string]string
	if err := json.Unmarshal([]byte(got[MetadataAttribute]), &rest); err != nil || rest["a-header-0"] != "value" || rest[dlq.HeaderError] != "refused" {
		t.Errorf("the rest is %q, %v", got[MetadataAttribute], err)
	}
	if len(got) != attributesMost {
		t.Errorf("%d attributes: %q", len(got), got)
	}
}
