package shard

import (
	"testing"
	"time"
)

// DESIGN §3 Backlog and drain, TRAPS Databases (hashtext may change): the shard of an order key and
// the number of a lock are stored, or shared by processes of different versions, and
// never change. These were computed with another program (FNV-1a, in Python).
//
//evidence:shard
func TestNumbersNeverChange(t *testing.T) {
	if Count != 64 {
		t.Errorf("there are %d shards; the migrations say 64", Count)
	}
	for key, want := range map[string]int{"a": 32, "k": 38, "customer-1": 24, "order:10492": 6, "café": 34} {
		if got := Of(key); got != want {
			t.Errorf("shard of %q is %d, want %d", key, got, want)
		}
	}
	for _, tt := range []struct {
		parts []string
		want  int64
	}{
		{nil, -3750763034362895579},
		{[]string{"a"}, 620337896427418084},
		{[]string{"ab", "c"}, -5971061518606907643},
		{[]string{"a", "bc"}, 4618443601942399609},
		{[]string{"backlog", "public", "billing", "3"}, -5426145306108329019},
	} {
		if got := Lock(tt.parts...); got != tt.want {
			t.Errorf("lock of %q is %d, want %d", tt.parts, got, tt.want)
		}
	}
}

// Rows without an order key are spread over all shards.
func TestRowsWithoutAnOrderKeyAreSpread(t *testing.T) {
	seen := make(map[int]int)
	for range 10 * Count {
		seen[Of("")]++
	}
	for shard := range Count {
		if seen[shard] == 0 {
			t.Errorf("no row came to shard %d", shard)
		}
	}
}

// One visit finds the rows that are written soon after each other, but no more than it can
// work off; those of the next time are in the next shard.
func TestRowsShareAShard(t *testing.T) {
	start := time.Now().Add(time.Hour) // the shard of earlier rows is too old
	first := Next(start, 3)
	if later := Next(start.Add(togetherTime-1), togetherRows-3); later != first {
		t.Errorf("shards %d and %d, want one", first, later)
	}
	full := Next(start.Add(togetherTime-1), 1)
	if full == first {
		t.Errorf("shard %d got more than %d rows", first, togetherRows)
	}
	if old := Next(start.Add(2*togetherTime), 1); old == full {
		t.Errorf("shard %d got rows for more than %s", full, togetherTime)
	}
}
