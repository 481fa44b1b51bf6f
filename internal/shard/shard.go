package shard

import (
	"hash/fnv"
	"sync/atomic"
)

// Count is the number of shards of each table that is drained.
const Count = 16

var spread atomic.Uint32

// Of returns the shard of an order key: the same in every process and version. An
// empty key goes to any shard, in turn.
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

// Lock returns the number of a lock for the parts, for databases that lock
// numbers. It never changes: hashing is done here because a database's own hash
// may change between its versions.
func Lock(parts ...string) int64 {
	h := fnv.New64a()
	for _, p := range parts {
		_, _ = h.Write([]byte(p))
		_, _ = h.Write([]byte{0})
	}
	return int64(h.Sum64())
}
