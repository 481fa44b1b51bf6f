package kafka

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/headrace/headrace/internal/sleep"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// asking sends requests to the brokers, and repeats them while no broker is reachable,
// which franz-go leaves to its caller: a program should start even while a broker
// restarts.
type asking struct{ client *kgo.Client }

// ask makes an asking; stop ends it.
func (o SourceOptions) ask() (a asking, stop func(), err error) {
	client, err := kgo.NewClient(o.admin()...)
	if err != nil {
		return asking{}, nil, fmt.Errorf("make a client: %w", err)
	}
	return asking{client}, client.Close, nil
}

// Request implements kmsg.Requestor. When ctx ends, it returns why no broker was reachable.
func (a asking) Request(ctx context.Context, question kmsg.Request) (kmsg.Response, error) {
	var away error
	for failures := 1; ; failures++ {
		answer, err := a.client.Request(ctx, question)
		switch {
		case unreachable(err):
			away = err
		case err == nil || away == nil || ctx.Err() == nil:
			return answer, err
		}
		if !sleep.For(ctx, backoff(failures)) {
			return nil, advised("SourceOptions.Brokers", away)
		}
	}
}

// unreachable reports whether err says that no broker was reachable.
func unreachable(err error) bool {
	var network *net.OpError
	return errors.As(err, &network) || errors.Is(err, io.EOF)
}

// advised adds the option that may be wrong if no broker was reachable.
func advised(option string, err error) error {
	if !unreachable(err) {
		return err
	}
	return fmt.Errorf("%w (no broker answers: is option %s right?)", err, option)
}
