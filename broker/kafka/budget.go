package kafka

import (
	"strings"
	"sync"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kgo"
)

// budget counts the bytes of the records of a session that were fetched and are not
// acknowledged. While it is full, the client is not polled.
type budget struct {
	most    int64
	changed chan<- struct{} // gets a value when there is room again
	used    atomic.Int64
}

func (b *budget) full() bool { return b.used.Load() >= b.most }

func (b *budget) add(n int) { b.used.Add(int64(n)) }

func (b *budget) free(n int) {
	if after := b.used.Add(-int64(n)); after < b.most && after+int64(n) >= b.most {
		signal(b.changed)
	}
}

const (
	// A fetch asks for as many bytes at first, and between leastFetch and mostFetch once
	// it is known how well the topic is compressed; of one partition for mostOfOne. The
	// least is what some batches of zeros take: 900 kB in 120 bytes. A batch that is
	// larger comes all the same.
	leastFetch = 1 << 10
	mostFetch  = 16 << 20
	mostOfOne  = 1 << 20
	// fetchShare is the inverse of a fetch's share of the budget, decompressed.
	fetchShare = 4
)

// fetching sets how many bytes the client asks for. The limits of a fetch are of compressed
// bytes, so they follow from how much larger the batches were that came.
type fetching struct {
	most   int64 // of the budget
	client atomic.Pointer[kgo.Client]

	mu    sync.Mutex
	ratio float64 // of a batch's bytes to its compressed ones: rises at once, falls slowly
	asked int64
}

var _ kgo.HookFetchBatchRead = (*fetching)(nil)

// OnFetchBatchRead implements kgo.HookFetchBatchRead.
func (f *fetching) OnFetchBatchRead(_ kgo.BrokerMetadata, _ string, _ int32, m kgo.FetchBatchMetrics) {
	client := f.client.Load()
	if client == nil || m.CompressedBytes <= 0 || m.UncompressedBytes <= 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if bytes, changed := f.next(float64(m.UncompressedBytes) / float64(m.CompressedBytes)); changed {
		client.UpdateFetchMaxBytes(int32(bytes), int32(min(bytes, mostOfOne)))
	}
}

// next returns how many bytes to ask for after a batch of that ratio, and whether they
// differ from the last by much.
func (f *fetching) next(ratio float64) (bytes int64, changed bool) {
	if ratio > f.ratio {
		f.ratio = ratio
	} else {
		f.ratio += (ratio - f.ratio) / 64
	}
	bytes = min(max(int64(float64(f.most/fetchShare)/f.ratio), leastFetch), mostFetch)
	if bytes < f.asked || bytes > f.asked+f.asked/4 {
		f.asked = bytes
		return bytes, true
	}
	return f.asked, false
}

// alone returns r without the memory that it shares with the other records of its batch or
// answer: one slow record would keep all of it.
func alone(r *kgo.Record) *kgo.Record {
	n := len(r.Key) + len(r.Value)
	for i := range r.Headers {
		n += len(r.Headers[i].Value)
	}
	all := make([]byte, 0, n)
	own := func(b []byte) []byte {
		if b == nil {
			return nil
		}
		from := len(all)
		all = append(all, b...)
		return all[from:len(all):len(all)]
	}
	c := &kgo.Record{Offset: r.Offset, LeaderEpoch: r.LeaderEpoch, Timestamp: r.Timestamp, Key: own(r.Key), Value: own(r.Value)}
	if len(r.Headers) > 0 {
		c.Headers = make([]kgo.RecordHeader, len(r.Headers))
		for i, h := range r.Headers {
			c.Headers[i] = kgo.RecordHeader{Key: strings.Clone(h.Key), Value: own(h.Value)}
		}
	}
	return c
}
