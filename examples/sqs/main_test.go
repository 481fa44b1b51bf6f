package main

import (
	"log/slog"
	"path"
	"testing"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/headrace/headrace/tests/endtoend/storytest"
)

func TestStory(t *testing.T) { storytest.Run(t, broker, topics) }

func topics(t *testing.T, address string) (all []string) {
	client := connect(address, slog.Default()).(connection).client
	out, err := client.ListQueues(t.Context(), &awssqs.ListQueuesInput{})
	if err != nil {
		t.Fatal(err)
	}
	for _, url := range out.QueueUrls {
		all = append(all, path.Base(url))
	}
	return all
}
