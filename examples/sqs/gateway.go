package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/headrace/headrace/broker/sqs"
	"github.com/headrace/headrace/tests/endtoend/story"
)

// gateway is the AWS SDK alone: no Watermill, and of headrace only the names of two
// attributes, since SQS takes text only, and no more than ten attributes.
type gateway struct{ connection }

// Gateway implements story.Connection.
func (c connection) Gateway() (story.Gateway, error) { return gateway{c}, nil }

// Send implements story.Gateway.
func (g gateway) Send(ctx context.Context, topic string, list []story.Sent) error {
	url, err := g.url(ctx, topic)
	if err != nil {
		return err
	}
	for batch := range slices.Chunk(list, 10) {
		in := &awssqs.SendMessageBatchInput{QueueUrl: url}
		for i, s := range batch {
			in.Entries = append(in.Entries, entry(strconv.Itoa(i), s))
		}
		out, err := g.sendBatch(ctx, in)
		if err != nil {
			return fmt.Errorf("send to %q: %w", topic, err)
		}
		if len(out.Failed) > 0 {
			return fmt.Errorf("send to %q: %d of %d were refused: %s", topic, len(out.Failed), len(batch), aws.ToString(out.Failed[0].Code))
		}
	}
	return nil
}

// callTime bounds a call: the SDK waits without a limit for a server that was killed and does
// not answer. What was sent is sent again.
const callTime = 10 * time.Second

func (g gateway) sendBatch(ctx context.Context, in *awssqs.SendMessageBatchInput) (*awssqs.SendMessageBatchOutput, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	return g.client.SendMessageBatch(ctx, in)
}

// What SQS takes as the name of an attribute, and as that of a message group.
var (
	attributeName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,256}$`)
	groupName     = regexp.MustCompile(`^[!-~]{1,128}$`)
)

func entry(id string, s story.Sent) types.SendMessageBatchRequestEntry {
	body := string(s.Payload)
	attributes := make(map[string]types.MessageAttributeValue, len(s.Headers)+1)
	rest := map[string]string{} // what SQS takes not as an attribute
	for name, value := range s.Headers {
		if attributeName.MatchString(name) && value != "" && text(value) && len(attributes) < 8 {
			attributes[name] = attribute(value)
		} else {
			rest[name] = value
		}
	}
	if len(rest) > 0 {
		object, _ := json.Marshal(rest) // strings always have a JSON form
		attributes[sqs.MetadataAttribute] = attribute(string(object))
	}
	switch {
	case body == "":
		body, attributes[sqs.BodyAttribute] = "-", attribute("empty")
	case !text(body):
		body, attributes[sqs.BodyAttribute] = base64.StdEncoding.EncodeToString(s.Payload), attribute("base64")
	}
	group := s.Key
	switch {
	case group == "":
		group = rand.Text()
	case !groupName.MatchString(group):
		group = fmt.Sprintf("%x", sha256.Sum256([]byte(group)))
	}
	return types.SendMessageBatchRequestEntry{
		Id: &id, MessageBody: &body, MessageAttributes: attributes,
		MessageGroupId: &group, MessageDeduplicationId: aws.String(rand.Text()),
	}
}

func attribute(value string) types.MessageAttributeValue {
	return types.MessageAttributeValue{DataType: aws.String("String"), StringValue: &value}
}

// text says that SQS takes s as a body.
func text(s string) bool {
	return utf8.ValidString(s) && !slices.ContainsFunc([]rune(s), func(r rune) bool {
		return r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0xFFFE || r == 0xFFFF
	})
}

// Close implements story.Gateway.
func (g gateway) Close() error { return nil }

// Left implements story.Connection.
func (c connection) Left(ctx context.Context, topic, _ string) (int, error) {
	url, err := c.url(ctx, topic)
	if err != nil {
		return 0, err
	}
	names := []types.QueueAttributeName{
		types.QueueAttributeNameApproximateNumberOfMessages, types.QueueAttributeNameApproximateNumberOfMessagesNotVisible,
		types.QueueAttributeNameApproximateNumberOfMessagesDelayed,
	}
	out, err := c.client.GetQueueAttributes(ctx, &awssqs.GetQueueAttributesInput{QueueUrl: url, AttributeNames: names})
	if err != nil {
		return 0, fmt.Errorf("count what is left on %q: %w", topic, err)
	}
	left := 0
	for _, name := range names {
		n, err := strconv.Atoi(out.Attributes[string(name)])
		if err != nil {
			return 0, fmt.Errorf("count what is left on %q: %s: %w", topic, name, err)
		}
		left += n
	}
	return left, nil
}
