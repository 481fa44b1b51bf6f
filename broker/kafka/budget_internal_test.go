package kafka

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"
)

// A record that is handed over shares no memory with the others of its batch, which one slow
// record would keep, and is otherwise the same: nil stays nil, and empty stays empty.
// Guard: alone.
func TestARecordKeepsNoBatch(t *testing.T) {
	batch := []byte("keyvalueone")
	shared := &kgo.Record{
		Offset: 7, LeaderEpoch: 3, Key: batch[:3], Value: batch[3:8],
		Headers: []kgo.RecordHeader{{Key: "one", Value: batch[8:]}, {Key: "none"}, {Key: "empty", Value: batch[:0]}},
	}
	tombstone := &kgo.Record{Offset: 8, Key: batch[:0]}
	own, nothing := alone(shared), alone(tombstone)
	want := &kgo.Record{
		Offset: 7, LeaderEpoch: 3, Key: []byte("key"), Value: []byte("value"),
		Headers: []kgo.RecordHeader{{Key: "one", Value: []byte("one")}, {Key: "none"}, {Key: "empty", Value: []byte{}}},
	}
	clear(batch)
	for _, c := range []struct{ got, want *kgo.Record }{{own, want}, {nothing, &kgo.Record{Offset: 8, Key: []byte{}}}} {
		if diff := cmp.Diff(c.want.Headers, c.got.Headers); diff != "" {
			t.Error(diff)
		}
		if c.got.Offset != c.want.Offset || c.got.LeaderEpoch != c.want.LeaderEpoch || !cmp.Equal(c.got.Key, c.want.Key) || !cmp.Equal(c.got.Value, c.want.Value) {
			t.Errorf("%+v, want %+v", c.got, c.want)
		}
	}
}
