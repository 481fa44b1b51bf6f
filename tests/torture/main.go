//go:build unix

package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/signal"
	"slices"
	"strings"

	"github.com/headrace/headrace/tests/torture/cluster"
	"github.com/headrace/headrace/tests/torture/nemesis"
	"github.com/headrace/headrace/tests/torture/workload"
)

func main() {
	if order := os.Getenv(workload.Variable); order != "" {
		os.Exit(workload.Main(order))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code, err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "torture:", err)
	}
	os.Exit(code)
}

// run plays what the arguments ask for. It returns the exit code: 1 where something was
// found, 2 where the arguments make no sense.
func run(ctx context.Context, args []string, out io.Writer) (int, error) {
	set := flag.NewFlagSet("torture", flag.ContinueOnError)
	var o options
	var store, only string
	var asJSON, together bool
	set.Uint64Var(&o.seed, "seed", rand.Uint64N(1_000_000), "what all choices follow from")
	set.IntVar(&o.n, "n", 300, "the least number of messages of each scenario")
	set.DurationVar(&o.time, "time", 0, "how long each scenario goes on at least")
	set.IntVar(&o.kills, "kills", 5, "how often each crash point is hit")
	set.IntVar(&o.rate, "rate", 200, "messages in a second")
	set.StringVar(&store, "store", "", "sqlite or postgres; default both")
	set.StringVar(&only, "only", "", "faults, with commas between; default each")
	set.BoolVar(&together, "together", false, "all faults in one scenario, in a random order")
	set.BoolVar(&asJSON, "json", false, "one object for each scenario")
	switch err := set.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprintln(os.Stderr, "faults:", strings.Join(faultNames(), ", "))
		return 0, nil
	case err != nil:
		return 2, nil
	case set.NArg() > 0:
		return 2, fmt.Errorf("%q: it takes flags alone; -only FAULT plays one", set.Arg(0))
	case o.n < 1 || o.kills < 1 || o.rate < 1 || o.time < 0:
		return 2, errors.New("-n, -kills and -rate are 1 or more, and -time is not negative")
	}
	stores, faults, err := choose(store, only)
	if err != nil {
		return 2, err
	}
	if o.dir, err = os.MkdirTemp("", "headrace-torture-"); err != nil {
		return 1, err
	}
	if err := os.Chmod(o.dir, 0o755); err != nil {
		return 1, err
	}
	fmt.Fprintf(os.Stderr, "torture: seed %d, files in %s\n", o.seed, o.dir)
	bad := 0
	for _, kind := range stores {
		n, err := all(ctx, kind, faults, together, o, func(r result) { show(out, r, asJSON) })
		if bad += n; err != nil {
			return 1, err
		}
	}
	if bad > 0 {
		return 1, fmt.Errorf("%d scenarios found something; their files are in %s", bad, o.dir)
	}
	return 0, os.RemoveAll(o.dir)
}

func faultNames() (names []string) {
	for _, f := range nemesis.Faults() {
		names = append(names, f.Name)
	}
	return names
}

func choose(store, only string) (stores []string, faults []nemesis.Fault, err error) {
	if stores = []string{"sqlite", "postgres"}; store != "" {
		if !slices.Contains(stores, store) {
			return nil, nil, fmt.Errorf("-store %s: it is sqlite or postgres", store)
		}
		stores = []string{store}
	}
	faults = nemesis.Faults()
	if only == "" {
		return stores, faults, nil
	}
	names := faultNames()
	var chosen []nemesis.Fault
	for name := range strings.SplitSeq(only, ",") {
		i := slices.Index(names, name)
		if i < 0 {
			return nil, nil, fmt.Errorf("-only %s: it is one of %s", name, strings.Join(names, ", "))
		}
		chosen = append(chosen, faults[i])
	}
	return stores, chosen, nil
}

// all plays every fault on a store, and returns how many scenarios found something.
func all(ctx context.Context, kind string, faults []nemesis.Fault, together bool, o options, tell func(result)) (bad int, err error) {
	faults = slices.DeleteFunc(slices.Clone(faults), func(f nemesis.Fault) bool { return f.Only != "" && f.Only != kind })
	if len(faults) == 0 {
		return 0, nil
	}
	if kind == "postgres" {
		dir, err := os.MkdirTemp(o.dir, "server-")
		if err != nil {
			return 0, err
		}
		if o.server, err = cluster.New(ctx, dir); err != nil {
			return 0, err
		}
		defer func() { err = errors.Join(err, o.server.Stop(context.WithoutCancel(ctx), "fast")) }()
	}
	one := func(name string, faults ...nemesis.Fault) {
		r := play(ctx, kind, name, faults, o)
		if tell(r); !r.ok() {
			bad++
		}
	}
	if together {
		rng := rand.New(rand.NewPCG(o.seed, 3))
		rng.Shuffle(len(faults), func(i, k int) { faults[i], faults[k] = faults[k], faults[i] })
		one("together", faults...)
		return bad, ctx.Err()
	}
	for _, f := range faults {
		if one(f.Name, f); ctx.Err() != nil {
			return bad, ctx.Err()
		}
	}
	return bad, nil
}

func show(out io.Writer, r result, asJSON bool) {
	if asJSON {
		_ = json.NewEncoder(out).Encode(r)
		return
	}
	word := "ok"
	if !r.ok() {
		word = "FOUND"
	}
	var hits []string
	for _, name := range slices.Sorted(maps.Keys(r.Hits)) {
		hits = append(hits, fmt.Sprintf("%s %d", name, r.Hits[name]))
	}
	fmt.Fprintf(out, "%-5s %-8s %-22s %5d messages, quiet after %.1f s, good p99 %.0f ms; took effect: %s\n",
		word, r.Store, r.Name, r.Sent, r.Live, r.Good, strings.Join(hits, ", "))
	for _, v := range r.Violations {
		fmt.Fprintf(out, "      %s: %d times: %s %s\n", v.Rule, v.Count, v.Says, strings.Join(v.Examples, ", "))
	}
	if r.Error != "" {
		fmt.Fprintf(out, "      %s\n", r.Error)
	}
	if !r.ok() {
		fmt.Fprintf(out, "      seed %d, %s\n", r.Seed, r.History)
	}
}
