package redis

import (
	"context"
	"errors"
	"fmt"

	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/internal/encode"
)

var _ consumer.LagReporter = (*Source)(nil)

var errUnknownLag = errors.New("not known to Redis, because entries of the stream were deleted")

// Lag implements consumer.LagReporter: the entries of the stream that the group has not
// read.
func (s *Source) Lag(ctx context.Context, topic string) (int64, error) { return s.subs.Lag(ctx, topic) }

// Lag implements flow.Reporter.
func (u *subscription) Lag(ctx context.Context) (n int64, err error) {
	err = u.ask(ctx, func() (err error) {
		n, err = u.lag()
		return err
	})
	return n, err
}

func (u *subscription) lag() (int64, error) {
	groups, err := u.client.XInfoGroups(u.ctx, u.stream).Result()
	if err != nil {
		return 0, fmt.Errorf("ask Redis for the groups of the stream: %s", encode.Said(err))
	}
	for _, g := range groups {
		if g.Name == u.o.Group && g.Lag >= 0 {
			return g.Lag, nil
		}
	}
	return 0, errUnknownLag
}
