package sqs

import (
	"crypto/md5" // SQS' own check of a body, against damage and not against people
	"encoding/base64"
	"encoding/hex"
	"maps"
	"strings"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/encode"
)

// read makes a message of any SQS message: it never fails. The payload is the body, or
// the payload that our sink encoded in it; metadata are the attributes as text.
func read(m *types.Message, q queue, sns bool) (*message.Message, headrace.Arrival, Facts) {
	facts := factsOf(m)
	a := headrace.Arrival{Coordinates: headrace.Coordinates{Broker: "sqs", Topic: q.name, Position: facts.MessageID}, Time: facts.Sent}
	if q.fifo() {
		a.OrderKey = facts.Group
	}
	body, id, metadata := aws.ToString(m.Body), facts.MessageID, texts(m.MessageAttributes)
	if n, ok := unwrap(body, sns); ok {
		body, id = n.Message, n.MessageID
		maps.Copy(metadata, n.texts())
	}
	if rest, err := encode.ParseMetadata([]byte(metadata[MetadataAttribute])); err == nil {
		delete(metadata, MetadataAttribute)
		maps.Copy(rest, metadata)
		metadata = rest
	}
	if uuid := metadata[UUIDAttribute]; uuid != "" {
		id = uuid
		delete(metadata, UUIDAttribute)
	}
	payload, err := readBody(body, metadata[BodyAttribute])
	if a.Unreadable = err; err == nil && known(metadata[BodyAttribute]) {
		delete(metadata, BodyAttribute)
	}
	if source := m.Attributes[string(types.MessageSystemAttributeNameDeadLetterQueueSourceArn)]; source != "" {
		metadata[DeadLetterSourceKey] = source
	}
	msg := message.NewMessage(id, payload)
	msg.Metadata = metadata
	return msg, a, facts
}

func known(how string) bool { return how == bodyBase64 || how == bodyEmpty }

// texts returns the attributes as metadata.
func texts(attributes map[string]types.MessageAttributeValue) map[string]string {
	m := make(map[string]string, len(attributes))
	for name, v := range attributes {
		if strings.HasPrefix(aws.ToString(v.DataType), "Binary") {
			m[name] = textOf(v.BinaryValue)
		} else {
			m[name] = aws.ToString(v.StringValue)
		}
	}
	return m
}

// textOf returns a binary attribute as text: unchanged if it is text, as in
// watermill-aws, otherwise its base64 after a prefix.
func textOf(b []byte) string {
	if s := string(b); encode.Clean(s) {
		return s
	}
	return "base64:" + base64.StdEncoding.EncodeToString(b)
}

// damaged reports whether the body is not the one that SQS sent.
func damaged(m *types.Message) bool {
	if m.Body == nil || m.MD5OfBody == nil {
		return false
	}
	sum := md5.Sum([]byte(*m.Body))
	return !strings.EqualFold(hex.EncodeToString(sum[:]), *m.MD5OfBody)
}
