package kafka

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// asking puts questions to the brokers, and puts them again while no broker is there,
// which franz-go leaves to its caller: one that is just being started again is no reason
// for a program not to start.
type asking struct{ client *kgo.Client }

// ask makes an asking; stop ends it.
func (o SourceOptions) ask() (a asking, stop func(), err error) {
	client, err := kgo.NewClient(o.admin()...)
	if err != nil {
		return asking{}, nil, fmt.Errorf("make a client: %w", err)
	}
	return asking{client}, client.Close, nil
}

// Request implements kmsg.Requestor. It returns the last error when ctx ends.
func (a asking) Request(ctx context.Context, question kmsg.Request) (kmsg.Response, error) {
	for failures := 1; ; failures++ {
		answer, err := a.client.Request(ctx, question)
		if !unreachable(err) {
			return answer, err
		}
		pause := time.NewTimer(backoff(failures))
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return nil, advised("SourceOptions.Brokers", err)
		}
	}
}

// unreachable reports whether err says that there was nobody to ask.
func unreachable(err error) bool {
	var network *net.OpError
	return errors.As(err, &network) || errors.Is(err, io.EOF)
}

// advised names the option that may be wrong where err says that there was nobody to ask.
func advised(option string, err error) error {
	if !unreachable(err) {
		return err
	}
	return fmt.Errorf("%w (no broker answers: is option %s right?)", err, option)
}
