package redis

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/headrace/headrace/consumer"
)

// Check reads the server's settings (command INFO), and rejects those with which entries
// vanish.
func (s *Source) Check(ctx context.Context, topic string, d consumer.Demands) error {
	if _, err := streamOf(topic, s.o.Stream, "SourceOptions"); err != nil {
		return fmt.Errorf("redis: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	info, err := s.o.Client.Info(ctx).Result()
	if err != nil {
		return fmt.Errorf("redis: ask the server for its settings (command INFO): %w", reach(err))
	}
	if err := s.o.accept(settings(info)); err != nil {
		return fmt.Errorf("redis: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wanted[topic] = min(d.InFlight, flightMost)
	return nil
}

// settings parses the answer of INFO.
func settings(info string) map[string]string {
	m := make(map[string]string)
	for line := range strings.Lines(info) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			m[name] = value
		}
	}
	return m
}

// accept returns what is wrong with a server, or nil. Settings that it does not report
// count as right.
func (o SourceOptions) accept(info map[string]string) error {
	major, _, _ := strings.Cut(info["redis_version"], ".")
	if n, err := strconv.Atoi(major); err == nil && n < 7 {
		return fmt.Errorf("the server has version %s, whose XAUTOCLAIM stumbles over deleted entries: it takes version 7", info["redis_version"])
	}
	if policy := info["maxmemory_policy"]; strings.HasPrefix(policy, "allkeys-") && !o.UnsafeEviction {
		return fmt.Errorf("the server has maxmemory-policy %s, which removes whole streams when memory is short: set noeviction or a volatile- policy, or SourceOptions.UnsafeEviction", policy)
	}
	if info["aof_enabled"] == "0" && !o.UnsafeVolatile {
		return fmt.Errorf("the server has appendonly no, and loses what was confirmed when it ends: set appendonly yes, or SourceOptions.UnsafeVolatile")
	}
	return nil
}
