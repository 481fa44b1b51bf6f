package kafka

import (
	"context"

	"github.com/twmb/franz-go/pkg/kgo"
)

// beginAt is begin, and records where each partition begins.
func (s *session) beginAt(ctx context.Context, offsets map[string]map[int32]kgo.Offset) (map[string]map[int32]kgo.Offset, error) {
	offsets, err := s.begin(ctx, offsets)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for number, at := range offsets[s.topic] {
		if p := s.partitions[number]; p != nil {
			p.expect(at.EpochOffset().Offset)
		}
	}
	return offsets, nil
}

// gap logs records before f that the topic has lost before they were read: franz-go
// silently continues with the oldest one. Records missing from a log that the broker
// still has completely were compacted or aborted.
func (s *session) gap(p *partition, f *kgo.FetchPartition) {
	from := p.expect(f.Records[len(f.Records)-1].Offset + 1)
	oldest := min(f.LogStartOffset, f.Records[0].Offset)
	if from < 0 || oldest <= from {
		return
	}
	s.options.Logger.Error("records that the group had not read are gone from the topic, by its retention or by a deletion; continuing with the oldest one",
		"topic", s.topic, "partition", f.Partition, "first", from, "oldest", oldest, "at_most", oldest-from)
}

// expect records the offset that comes next, and returns the previous one; negative if it
// was unknown.
func (p *partition) expect(next int64) (before int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before, p.expected = p.expected, next
	return before
}
