package kafka

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/headrace/headrace/broker/internal/flow"
	"github.com/headrace/headrace/consumer"
)

var _ consumer.LagReporter = (*Source)(nil)

// Lag implements consumer.LagReporter: the records of all partitions of topic after those
// that the group has acknowledged.
func (s *Source) Lag(ctx context.Context, topic string) (int64, error) {
	subs := s.to(topic)
	if len(subs) == 0 {
		return 0, flow.ErrNotSubscribed
	}
	group := s.options.Group
	lags, err := kadm.NewClient(subs[0].member.Load().client).Lag(ctx, group)
	if err == nil {
		err = lags.Error()
	}
	if err != nil {
		return 0, fmt.Errorf("ask for the lag of the group: %w", err)
	}
	var total int64
	for _, p := range lags[group].Lag[topic] {
		if p.Err != nil {
			return 0, fmt.Errorf("ask for the lag of partition %d: %w", p.Partition, p.Err)
		}
		total += p.Lag
	}
	return total, nil
}
