package kafka

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/headrace/headrace/broker/internal/flow"
	"github.com/headrace/headrace/internal/sleep"
)

// answerTime bounds how long the brokers may take to answer one question.
const answerTime = 4 * time.Second

// asker makes a client for requests only.
func (o SourceOptions) asker() (*kgo.Client, error) {
	client, err := kgo.NewClient(o.admin()...)
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	return client, nil
}

// patient repeats requests while no broker is reachable, which franz-go leaves to its
// caller.
type patient struct{ client *kgo.Client }

// Request implements kmsg.Requestor. When ctx ends, it returns why no broker was reachable.
func (p patient) Request(ctx context.Context, question kmsg.Request) (kmsg.Response, error) {
	var away error
	for failures := 1; ; failures++ {
		answer, err := p.client.Request(ctx, question)
		switch {
		case ctx.Err() == nil && flow.Unavailable(err):
			away = err
		case err == nil || away == nil || ctx.Err() == nil:
			return answer, err
		}
		if !sleep.For(ctx, backoff(failures)) {
			return nil, away
		}
	}
}

// describe asks for topics, once. Without any it asks whether a broker answers.
func describe(ctx context.Context, client kmsg.Requestor, topics ...string) (*kmsg.MetadataResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	ask := kmsg.NewPtrMetadataRequest()
	ask.Topics = []kmsg.MetadataRequestTopic{} // nil would ask for all
	for _, topic := range topics {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = kmsg.StringPtr(topic)
		ask.Topics = append(ask.Topics, t)
	}
	return ask.RequestWith(ctx, client)
}
