package drain

import (
	"testing"
	"time"

	"github.com/headrace/headrace/internal/shard"
)

// A poll that began before a visit must not raise the mark over a row that the visit
// leaves.
//
//evidence:late-row
func TestTopsLeaveABusyShard(t *testing.T) {
	s, now := newShards(Options{}.withDefaults()), time.Now()
	s.found(answer{Polled: Polled{Shards: []int{0}}}, now)
	visit, ok := s.next()
	if !ok {
		t.Fatal("the shard was not queued")
	}
	s.started(visit)
	tops := make([]int64, shard.Count)
	tops[0], tops[1] = 50, 50
	s.found(answer{Polled: Polled{Tops: tops}}, now)
	if s.all[0].mark != 0 || s.all[1].mark != 50 {
		t.Errorf("the mark of the busy shard is %d, that of another %d", s.all[0].mark, s.all[1].mark)
	}
}
