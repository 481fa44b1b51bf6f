package main

import (
	"bytes"
	"context"
	"path/filepath"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/uuid"

	"github.com/headrace/headrace/broker/brokertest"
	"github.com/headrace/headrace/tests/endtoend/services"
)

// The example ends well against a server that speaks SQS, on queues of its own.
func TestRun(t *testing.T) {
	*broker = brokertest.Variable(t, services.SQS.Variable, services.SQS.Name)
	*file = filepath.Join(t.TempDir(), "orders.db")
	suffix := "-" + uuid.NewString()[:8]
	paid, created = paid+suffix, created+suffix
	t.Cleanup(func() { remove(t, paid, created) })
	var out bytes.Buffer
	if err := run(t.Context(), &out); err != nil {
		t.Errorf("%v\n%s", err, &out)
	}
}

func remove(t *testing.T, queues ...string) {
	client := awssqs.New(awssqs.Options{BaseEndpoint: broker, Region: "elasticmq", Credentials: aws.AnonymousCredentials{}})
	for _, queue := range queues {
		found, err := client.GetQueueUrl(context.Background(), &awssqs.GetQueueUrlInput{QueueName: &queue})
		if err == nil {
			_, err = client.DeleteQueue(context.Background(), &awssqs.DeleteQueueInput{QueueUrl: found.QueueUrl})
		}
		if err != nil {
			t.Errorf("remove queue %s: %v", queue, err)
		}
	}
}
