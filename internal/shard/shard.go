package shard

import (
	"hash/fnv"
	"sync"
	"sync/atomic"
	"time"
)

// Count is the number of shards of each drained table.
const Count = 64

var spread atomic.Uint32

// Of returns the shard of an order key: the same in every process and version. Empty keys
// go to the shards in turn.
func Of(orderKey string) int {
	if orderKey == "" {
		return int(spread.Add(1) % Count)
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(orderKey))
	// FNV's low bits move little on short keys; fold the high half in.
	v := h.Sum32()
	return int((v ^ v>>16) % Count)
}

// Rows without an order key that are written soon after each other share a shard, so that
// one visit finds them: until the shard has got a visit's worth of them, or for a time in
// which a busy consumer looks for rows several times.
const (
	togetherRows = 64
	togetherTime = 100 * time.Millisecond
)

var turn struct {
	sync.Mutex
	rows  int
	since time.Time
	shard int
}

// Next returns the shard of n rows without an order key that are written at now.
func Next(now time.Time, n int) int {
	turn.Lock()
	defer turn.Unlock()
	if turn.rows >= togetherRows || now.Sub(turn.since) >= togetherTime {
		turn.rows, turn.since, turn.shard = 0, now, Of("")
	}
	turn.rows += n
	return turn.shard
}

// Lock returns the number of a lock for the parts, for databases that lock numbers. It
// never changes: we hash here because a database's own hash may change between its
// versions.
func Lock(parts ...string) int64 {
	h := fnv.New64a()
	for _, p := range parts {
		_, _ = h.Write([]byte(p))
		_, _ = h.Write([]byte{0})
	}
	return int64(h.Sum64())
}
