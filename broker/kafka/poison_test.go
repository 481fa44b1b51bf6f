package kafka_test

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// A record may have as many headers as fit into it, of one name. It comes soon, so do
// those behind it, and the source closes while it is under way. Guard: metadata.keep, which
// looks for no number twice.
func TestManyHeadersOfOneName(t *testing.T) {
	b := setup(t, 1)
	headers := make([]kgo.RecordHeader, 200_000)
	for i := range headers {
		headers[i].Key = "a"
	}
	if err := b.produce(t.Context(), b.topic, &kgo.Record{Value: []byte("0"), Headers: headers}, &kgo.Record{Value: []byte("1")}); err != nil {
		t.Fatal(err)
	}
	source := b.source(nil)
	list := b.receive(b.subscribe(source), 2)
	if n := len(list[0].Metadata); n != len(headers) {
		t.Errorf("%d of %d headers were kept", n, len(headers))
	}
	list[0].Nack()
	ended := make(chan error, 1)
	go func() { ended <- source.Close() }()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(waitTimeout):
		t.Errorf("not closed after %s", waitTimeout)
	}
}
