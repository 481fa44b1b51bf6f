package main

import (
	"bytes"
	"database/sql"
	"runtime"
	"strings"
	"testing"
)

// heap is an output that looks at the memory each time some has been written.
type heap struct {
	bytes, lines, looked int
	most                 uint64
}

func (h *heap) Write(p []byte) (int, error) {
	h.bytes, h.lines = h.bytes+len(p), h.lines+bytes.Count(p, []byte("\n"))
	if h.bytes-h.looked > 4<<20 {
		h.looked = h.bytes
		h.most = max(h.most, inUse())
	}
	return len(p), nil
}

// inUse is how many bytes of the heap are used.
func inUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// The longest list is printed page by page, and never kept: a list of 20 MB takes less than 12.
func TestListStreams(t *testing.T) {
	const letters = 5000
	p := newProgram(t)
	p.seed("dead", "1")
	db, err := sql.Open("sqlite", strings.TrimPrefix(p.dsn, "sqlite:"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Exec(`WITH RECURSIVE n (n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM n WHERE n < $1)
		INSERT INTO headrace_dead_letters (class, consumer, handler, scope, key, order_key, strict, fingerprint, first_fingerprint, message_id, topic, payload, metadata, coordinates,
			trace_parent, trace_state, error, error_fingerprint, chain, stack, attempts, first_failure, last_failure, previous_id, redrives, host, build, environment, created_at, changed_at)
		SELECT class, consumer, handler, scope, n, order_key, strict, fingerprint, first_fingerprint, message_id, topic, payload, metadata, coordinates,
			trace_parent, trace_state, $2, error_fingerprint, chain, stack, attempts, first_failure, last_failure, previous_id, redrives, host, build, environment, created_at, changed_at
		FROM headrace_dead_letters, n`, letters, strings.Repeat("x", 4000))
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	h, before := &heap{}, inUse()
	p.run(exitDone, func(m *Main) { m.Stdout = h }, "dlq", "ls", "--all-pages", "-o", "ndjson")
	if h.lines < letters || h.looked < 16<<20 || h.most > before+(12<<20) {
		t.Errorf("%d lines, %d bytes, %d of heap at most, %d before", h.lines, h.bytes, h.most, before)
	}
}
