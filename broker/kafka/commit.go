package kafka

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// commitTimeout bounds one commit.
const commitTimeout = 10 * time.Second

// commitNowAndThen commits positions until ctx ends; end commits the rest.
func (s *session) commitNowAndThen(ctx context.Context) {
	tick := time.NewTicker(s.options.CommitInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			s.commitAll(ctx)
		case <-ctx.Done():
			return
		}
	}
}

func (s *session) commitAll(ctx context.Context) {
	s.committing.Lock()
	defer s.committing.Unlock()
	ctx, cancel := context.WithTimeout(ctx, commitTimeout)
	defer cancel()
	s.commit(ctx, s.all())
}

// commit commits the positions of list that the group does not know yet. The caller has
// s.committing, so that all of them belong to this member. A failure is logged; the
// positions are then committed with the next ones, or their records come again.
func (s *session) commit(ctx context.Context, list []*partition) {
	offsets := make(map[int32]kgo.EpochOffset, len(list))
	incarnations := make(map[int32]string, len(list))
	for _, p := range list {
		if position, incarnation, is := p.uncommitted(); is {
			offsets[p.number], incarnations[p.number] = position, incarnation
		}
	}
	if len(offsets) == 0 { // also if the member has lost the partitions
		s.outage.commits.Is(nil)
		return
	}
	var failed error
	s.client.CommitOffsetsSync(marking(ctx, incarnations), map[string]map[int32]kgo.EpochOffset{s.topic: offsets},
		func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, answer *kmsg.OffsetCommitResponse, err error) {
			failed = err
			if err == nil {
				failed = s.committed(list, offsets, answer)
			}
		})
	if failed == nil {
		s.outage.commits.Is(nil)
	} else if !errors.Is(failed, context.Canceled) {
		s.outage.note("the commit of offsets", failed)
		s.outage.commits.Is(fmt.Errorf("the group does not take offsets: %w", failed))
	}
}

// committed records the confirmed positions, and returns why the rest was refused.
func (s *session) committed(list []*partition, offsets map[int32]kgo.EpochOffset, answer *kmsg.OffsetCommitResponse) error {
	var failed []error
	good := make(map[int32]bool)
	for _, t := range answer.Topics {
		for _, p := range t.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				failed = append(failed, err)
			} else {
				good[p.Partition] = true
			}
		}
	}
	for _, p := range list {
		if good[p.number] {
			p.commit(offsets[p.number].Offset)
		}
	}
	return errors.Join(failed...)
}
