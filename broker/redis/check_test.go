package redis

import (
	"strings"
	"testing"
)

// TestAccept: servers that lose entries are refused by name, unless it is wanted.
func TestAccept(t *testing.T) {
	const good = "# Server\r\nredis_version:7.0.15\r\nmaxmemory_policy:noeviction\r\naof_enabled:1\r\n"
	for _, c := range []struct {
		from, to string
		options  SourceOptions
		want     string
	}{
		{"", "", SourceOptions{}, ""},
		{"7.0.15", "6.2.1", SourceOptions{}, "version 6.2.1"},
		{"noeviction", "allkeys-lru", SourceOptions{}, "UnsafeEviction"},
		{"noeviction", "allkeys-lru", SourceOptions{UnsafeEviction: true}, ""},
		{"noeviction", "volatile-ttl", SourceOptions{}, ""},
		{"aof_enabled:1", "aof_enabled:0", SourceOptions{}, "UnsafeVolatile"},
		{"aof_enabled:1", "aof_enabled:0", SourceOptions{UnsafeVolatile: true}, ""},
		{good, "", SourceOptions{}, ""}, // it tells nothing
	} {
		err := c.options.accept(settings(strings.Replace(good, c.from, c.to, 1)))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q instead of %q: %v", c.to, c.from, err)
		}
	}
}
