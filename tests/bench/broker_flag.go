package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
)

// brokerNames is the flag -brokers, with or without names.
type brokerNames struct{ names *string }

// String implements flag.Value.
func (b *brokerNames) String() string { return "" }

// Set implements flag.Value.
func (b *brokerNames) Set(names string) error {
	if names == "true" {
		names = "all"
	}
	*b.names = names
	return nil
}

// IsBoolFlag lets the flag stand without a value.
func (b *brokerNames) IsBoolFlag() bool { return true }

// choose returns the benchmarks that the flags mean, and what ends the servers that they
// need.
func (f flags) choose(ctx context.Context) (chosen []benchmark, stop func(), err error) {
	var servers []*server
	stop = func() {
		for _, s := range servers {
			s.stop()
		}
	}
	if f.brokers == "" {
		chosen, err = choose(f.only, f.single)
		return chosen, stop, err
	}
	chosen, err = brokerBenchmarks(f.brokers, func(kind brokerKind) (string, error) {
		if at := os.Getenv(kind.variable); at != "" {
			return at, nil
		}
		s, err := startServer(ctx, kind.service, kind.variable)
		if err != nil {
			return "", fmt.Errorf("start %s: %w", kind.name, err)
		}
		servers = append(servers, s)
		return s.at, nil
	})
	if err != nil {
		stop()
		return nil, nil, err
	}
	if f.only == "" {
		return chosen, stop, nil
	}
	chosen = slices.DeleteFunc(chosen, func(b benchmark) bool { return !strings.Contains(","+f.only+",", ","+b.name+",") })
	if len(chosen) == 0 {
		stop()
		return nil, nil, fmt.Errorf("no benchmark on brokers is called %q", f.only)
	}
	return chosen, stop, nil
}
