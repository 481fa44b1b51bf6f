package shard

import "testing"

// DESIGN §3 Drain, TRAPS Databases (hashtext may change): the shard of an order key and
// the number of a lock are stored, or shared by processes of different versions, and
// never change. These were computed with another program (FNV-1a, in Python).
func TestNumbersNeverChange(t *testing.T) {
	if Count != 16 {
		t.Errorf("there are %d shards; the migrations say 16", Count)
	}
	for key, want := range map[string]int{"a": 0, "k": 6, "customer-1": 8, "order:10492": 6, "café": 2} {
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
