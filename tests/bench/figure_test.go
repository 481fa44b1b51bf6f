package main

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestHistogram(t *testing.T) {
	for d := time.Duration(1); d < time.Hour; d = d*3/2 + 1 {
		if got := middle(bucket(d)); math.Abs(float64(got-d)) > float64(d)/32 {
			t.Errorf("%s is counted as %s", d, got)
		}
	}
	var h histogram
	if got := h.percentile(0.5); got != 0 {
		t.Errorf("the median of nothing is %s", got)
	}
	for ms := range 1000 {
		h.add(time.Duration(ms+1) * time.Millisecond)
	}
	for p, want := range map[float64]time.Duration{0.5: 500 * time.Millisecond, 0.99: 990 * time.Millisecond, 1: time.Second} {
		if got := h.percentile(p); math.Abs(float64(got-want)) > float64(want)/32 {
			t.Errorf("percentile %v is %s, want about %s", p, got, want)
		}
	}
}

func TestReportTakesMediansAndDivides(t *testing.T) {
	r := &report{rounds: make(map[string][]Figure)}
	for _, round := range [][2]float64{{30, 300}, {10, 45}, {20, 40}} {
		r.add("byhand", Figure{Rate: round[0]})
		r.add("single", Figure{Rate: round[1]})
	}
	var out strings.Builder
	r.settle(benchmarks())
	if text := r.markdown(benchmarks()); !strings.Contains(text, "| single/byhand | ≥ 4.5 | 4.50 | met |") {
		t.Errorf("the tables say %s", text)
	}
	if err := r.print(&out, true, benchmarks()); err != nil {
		t.Fatal(err)
	}
	if got := r.Ratios["single/byhand"]; got != 4.5 {
		t.Errorf("single/byhand is %v, want the median of 10, 4.5 and 2", got)
	}
	if got := r.Figures["byhand"].Rate; got != 20 {
		t.Errorf("byhand is %v, want the median 20", got)
	}
	if _, has := r.Ratios["batch/byhand"]; has {
		t.Error("a ratio of what did not run")
	}
	if !strings.Contains(out.String(), `"single/byhand": 4.5`) {
		t.Errorf("the JSON does not hold the ratio: %s", out.String())
	}
}

func TestChoose(t *testing.T) {
	names := func(only, single string) string {
		t.Helper()
		chosen, err := choose(only, single)
		if err != nil {
			return "error"
		}
		var list []string
		for _, b := range chosen {
			list = append(list, b.name)
		}
		return strings.Join(list, " ")
	}
	for _, c := range []struct{ only, single, want string }{
		{"relay", "", "forwarder_20k relay_20k relay_1m relay_300k relay_snapshot"},
		{"grown", "", "single grown grown_prune"},
		{"batch,single_1", "", "byhand byhand_1 single_1 batch"},
		{"single", "", "byhand byhand_64 byhand_1 single single_64 single_1"},
		{"single_pgx", "", "byhand byhand_1 byhand_pgx byhand_64_pgx byhand_1_pgx single_pgx single_64_pgx single_1_pgx"},
		{"single_1_pgx,latency,latency_apart", "", "byhand_1 byhand_1_pgx single_1_pgx latency latency_apart"},
		{"failing_5", "", "healthy failing_5"},
		{"failing", "", "healthy failing_5 failing_half"},
		{"backlog_two_pgx", "", "backlog_pgx backlog_two_pgx"},
		{"strict_intake", "", "live_keys strict_intake"},
		{"", "backlog", "backlog"},
		{"", "single", "single"},
		{"byhand_1", "single", "byhand_1 single"},
		{"nothing", "", "error"},
		{"", "nothing", "error"},
	} {
		if got := names(c.only, c.single); got != c.want {
			t.Errorf("-only %q -case %q runs %q, want %q", c.only, c.single, got, c.want)
		}
	}
	if all, _ := choose("", ""); len(all) != len(benchmarks()) {
		t.Errorf("%d of %d run by default", len(all), len(benchmarks()))
	}
}

// A ratio whose other side does not exist would never be printed.
func TestComparedBenchmarksExist(t *testing.T) {
	known := make(map[string]bool)
	for _, b := range benchmarks() {
		if known[b.name] {
			t.Errorf("two benchmarks are called %s", b.name)
		}
		known[b.name] = true
	}
	for _, b := range benchmarks() {
		for _, other := range b.against {
			if !known[other] {
				t.Errorf("%s is compared with %s, which there is not", b.name, other)
			}
		}
	}
}

// A bound on a ratio that no benchmark has would never be looked at.
func TestExpectedRatiosExist(t *testing.T) {
	ratios := make(map[string]bool)
	for _, b := range benchmarks() {
		for _, other := range b.against {
			ratios[b.ratio(other)] = true
		}
	}
	ofBroker := func(name string) bool {
		return slices.ContainsFunc(brokerKinds(), func(k brokerKind) bool { return strings.HasPrefix(name, k.name+"_") })
	}
	for _, e := range expected() {
		if e.of == nil && !ratios[e.Name] && !ofBroker(e.Name) {
			t.Errorf("a bound for %s, which no benchmark has", e.Name)
		}
	}
}

// What a name begins with is what others look for.
func TestNamesWithPgx(t *testing.T) {
	r := &report{rounds: make(map[string][]Figure)}
	for name, rate := range map[string]float64{"live_keys_pgx": 100, "strict_pgx": 40, "backlog_pgx": 30, "backlog_two_pgx": 27} {
		r.add(name, Figure{Rate: rate})
	}
	r.settle(benchmarks())
	for name, want := range map[string]float64{"strict_pgx/live_pgx": 0.4, "backlog_two_pgx/backlog_pgx": 0.9} {
		if got := r.Ratios[name]; got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
}
