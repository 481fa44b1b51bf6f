package kafka

import (
	"context"

	"github.com/twmb/franz-go/pkg/kgo"
)

// beginAt is begin, and notes where each partition begins.
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

// gap tells of records of f that the topic has lost before they were read: franz-go goes on
// with the oldest that is there, and says nothing. What is missing within a topic that the
// broker still has whole was compacted, or aborted.
func (s *session) gap(p *partition, f *kgo.FetchPartition) {
	from := p.expect(f.Records[len(f.Records)-1].Offset + 1)
	oldest := min(f.LogStartOffset, f.Records[0].Offset)
	if from < 0 || oldest <= from {
		return
	}
	s.options.Logger.Error("records that the group had not read are gone from the topic, by its retention or by somebody's hand; going on with the oldest that is there",
		"topic", s.topic, "partition", f.Partition, "first", from, "oldest", oldest, "at_most", oldest-from)
}

// expect notes the offset that comes next, and returns what was noted before; negative
// where nothing is known.
func (p *partition) expect(next int64) (before int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before, p.expected = p.expected, next
	return before
}
