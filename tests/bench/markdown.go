package main

import (
	"fmt"
	"strings"
)

// markdown is the report as docs/costs.md has it.
func (r *report) markdown(ran []benchmark) string {
	var b strings.Builder
	m := r.Machine
	fmt.Fprintf(&b, "%d CPUs, %s, PostgreSQL %s, GOGC=%s; %g s a benchmark, median of %d.\n\n", m.CPUs, m.Go, m.Postgres, m.GOGC, m.Seconds, m.Rounds)
	b.WriteString("| expected | bound | found | |\n|---|---|---|---|\n")
	for _, e := range r.Expected {
		bound, result := fmt.Sprintf("≥ %g", e.Least), "met"
		if e.Most > 0 {
			bound = fmt.Sprintf("≤ %g", e.Most)
		}
		if !e.Met {
			result = "**not met**"
		}
		fmt.Fprintf(&b, "| %s | %s | %.2f | %s |\n", e.Name, bound, e.Found, result)
	}
	b.WriteString("\n| benchmark | a second | p50 ms | p99 ms | client µs | server µs | allocated kB |\n|---|---|---|---|---|---|---|\n")
	for _, bench := range ran {
		f := r.Figures[bench.name]
		fmt.Fprintf(&b, "| %s | %.0f | %.2f | %.2f | %.1f | %.1f | %.1f |\n", bench.name, f.Rate, f.P50, f.P99, f.ClientCPU, f.ServerCPU, f.Allocated/1000)
	}
	return b.String()
}
