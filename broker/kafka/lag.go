package kafka

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/headrace/headrace/consumer"
)

var _ consumer.LagReporter = (*Source)(nil)

// Lag implements consumer.LagReporter: the records of all partitions of topic after those
// that the group has acknowledged.
func (s *Source) Lag(ctx context.Context, topic string) (int64, error) { return s.subs.Lag(ctx, topic) }

// Lag implements flow.Reporter.
func (s *subscription) Lag(ctx context.Context) (int64, error) {
	group := s.source.options.Group
	lags, err := kadm.NewClient(s.member.Load().client).Lag(ctx, group)
	if err == nil {
		err = lags.Error()
	}
	if err != nil {
		return 0, fmt.Errorf("ask for the lag of the group: %w", err)
	}
	var total int64
	for _, p := range lags[group].Lag[s.topic] {
		if p.Err != nil {
			return 0, fmt.Errorf("ask for the lag of partition %d: %w", p.Partition, p.Err)
		}
		total += p.Lag
	}
	return total, nil
}
