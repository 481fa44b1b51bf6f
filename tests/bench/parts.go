package main

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// benchmark is one measurement.
type benchmark struct {
	part string
	name string
	says string
	// against names the benchmarks whose rate this one's is divided by.
	against []string
	// labels stand for the names of against in ratios; none leave them.
	labels []string
	// with names benchmarks that are run before this one wherever this one is, so that
	// its ratio is of one run.
	with []string
	// fixture is what it finds in the tables; nil means nothing.
	fixture *fixture
	run     func(ctx context.Context, l *lab, a amount) (Figure, error)
}

// fixture is what a benchmark finds in the tables. It is made before the clock runs,
// once for the benchmarks that follow each other with the same one.
type fixture struct {
	name string
	rows func(l *lab) int
	// times is how many rows it has for each message of an amount that says how many; 0
	// means 1.
	times int
	fill  func(ctx context.Context, l *lab, rows int) error
}

// amount is how much to measure.
type amount struct {
	// time is for how long; the warm-up takes a fifth more. Benchmarks of a fixed
	// number of rows run until those are done instead.
	time time.Duration
	// messages, where it is not 0, is how many, instead of time.
	messages int
	// warm is added to the warm-up, where time says how much to measure.
	warm time.Duration
}

// or is how many rows a benchmark of a fixed number of rows takes.
func (a amount) or(rows int) int {
	if a.messages > 0 {
		return a.messages
	}
	return rows
}

// benchmarks are all of them, in the order in which they run: what is compared
// stands close together, because the machine is not the same ten minutes later.
func benchmarks() []benchmark {
	var all []benchmark
	for _, part := range [][]benchmark{
		byhandPart(libPQ), effectPart(libPQ), singlePart(libPQ), batchPart(),
		byhandPart(pgx), effectPart(pgx), singlePart(pgx), awayPart(),
		duplicatesPart(), relayPart(), latencyPart(), failingPart(libPQ), failingPart(pgx),
		backlogPart(libPQ), strictPart(libPQ), backlogPart(pgx), strictPart(pgx), killPart(),
		stepsPart(libPQ), stepsPart(pgx), grownPart(), deadPart(), redrivePart(), rehearsePart(), memoryPart(), sqlitePart(),
	} {
		all = append(all, part...)
	}
	return all
}

// choose returns the benchmarks that the names mean; all where they are empty. Those of
// only bring what their ratios are against; single comes alone.
func choose(only, single string) ([]benchmark, error) {
	all := benchmarks()
	if only == "" && single == "" {
		return all, nil
	}
	wanted := make(map[string]bool)
	for name := range strings.SplitSeq(only, ",") {
		if name = strings.TrimSpace(name); name != "" {
			wanted[name] = false
		}
	}
	parts, with := make(map[string]bool), make(map[string]bool)
	for _, b := range all {
		parts[b.part] = true
	}
	for _, b := range all {
		_, part := wanted[b.part]
		_, own := wanted[b.name]
		if part || own {
			for _, name := range b.with {
				with[name] = true
			}
		}
	}
	var chosen []benchmark
	found := false
	for _, b := range all {
		_, part := wanted[b.part]
		_, own := wanted[b.name]
		own = own && !parts[b.name]
		if part {
			wanted[b.part] = true
		}
		if own {
			wanted[b.name] = true
		}
		switch {
		case part, own:
		case b.name == single:
			found = true
		case with[b.name]:
		default:
			continue
		}
		chosen = append(chosen, b)
	}
	if single != "" && !found {
		wanted[single] = false
	}
	for name, ran := range wanted {
		if !ran {
			return nil, fmt.Errorf("nothing is called %q: see -list", name)
		}
	}
	return chosen, nil
}
