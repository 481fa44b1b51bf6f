package regress

import (
	"context"
	"crypto/rand"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/codec"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/internal/pgtest/pgstore"
	"github.com/headrace/headrace/retry"
)

// A batch from the backlog is bounded by the bytes of its payloads
// (Config.MaxInFlightBytes), not only by the number of its rows: 64 rows of 1 MiB are not
// read at once where 4 MiB may be in flight.
//
// Without that 64 rows of 4 MiB took 463 MiB of memory where 16 MiB was allowed.
//
//evidence:backlog-bytes
func TestBacklogIsReadByBytes(t *testing.T) {
	// Not parallel: what is measured is the memory of this process.
	for _, driver := range drivers(t) {
		t.Run(driver, func(t *testing.T) {
			dsn, schema := pgstore.New(t)
			checkBacklogBytes(newPostgres(t, driver, dsn, schema))
		})
	}
	t.Run(onFile, func(t *testing.T) { checkBacklogBytes(newSQLite(t)) })
}

const (
	largeRows   = 64
	largeRow    = 1 << 20
	largeFlight = 4 << 20
	// largeMost bounds the growth of the heap: a driver holds a row several times, and
	// the collector lets garbage lie.
	largeMost = 48 << 20
)

func checkBacklogBytes(f *fixture) {
	config := f.config()
	config.MaxInFlightBytes, config.Concurrency, config.Codec = largeFlight, 1, codec.Raw()
	config.Retry = attempts(2)
	// All rows are in one shard. They wait for their retry until the test shifts the clock, and then
	// are due at one moment.
	c := f.consumer(f.st, config)
	consumer.Handle(c, topic, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[[]byte]) error {
		if m.Attempt == 1 {
			return retry.After(time.Hour, errBoom)
		}
		_, err := tx.ExecContext(ctx, "INSERT INTO effects (msg, n) VALUES ($1, $2)", m.ID, len(m.Body))
		return err
	})
	f.start(c)
	payload := make([]byte, largeRow)
	_, _ = rand.Read(payload) // PostgreSQL would take long to compress anything else
	var all []*message.Message
	for _, id := range series("m", largeRows) {
		all = append(all, f.src.Deliver(topic, id, payload, map[string]string{orderKey: "key"}))
	}
	f.acked(all...)
	defer debug.SetGCPercent(debug.SetGCPercent(50))
	peak := heapPeak(f)
	f.later(2 * time.Hour)
	f.eventually("all are applied", func() bool { return f.count("SELECT count(*) FROM effects WHERE n = $1", largeRow) == largeRows })
	got := peak()
	f.Logf("%d MiB of memory", got>>20)
	if got > largeMost {
		f.Errorf("%d MiB of memory for %d rows of %d MiB, with %d MiB in flight; want at most %d MiB", got>>20, largeRows, largeRow>>20, largeFlight>>20, largeMost>>20)
	}
}

// heapPeak begins to measure. The function that it returns ends that, and returns by how
// many bytes the heap grew at most.
func heapPeak(f *fixture) func() uint64 {
	runtime.GC()
	before := heap()
	var most atomic.Uint64
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for ticker := time.Tick(time.Millisecond); ; {
			select {
			case <-stop:
				return
			case <-ticker:
				most.Store(max(most.Load(), heap()))
			}
		}
	}()
	return func() uint64 {
		close(stop)
		<-stopped
		return max(most.Load(), before) - before
	}
}

// heap returns the bytes of objects on the heap, those not collected yet included.
func heap() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
