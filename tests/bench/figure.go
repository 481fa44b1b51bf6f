package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Figure is what a benchmark found.
type Figure struct {
	// Rate is messages or rows a second.
	Rate float64 `json:"rate"`
	// P50 and P99 are milliseconds: from hand-over to acknowledgement, or what Says
	// says.
	P50 float64 `json:"p50_ms"`
	P99 float64 `json:"p99_ms"`
	// Messages is how many were measured, in Seconds.
	Messages int     `json:"messages"`
	Seconds  float64 `json:"seconds"`
	// ClientCPU and ServerCPU are the processor time of this process and of the
	// server's for our database, in microseconds a message; 0 where the system does
	// not tell. On a busy machine they say more than Rate.
	ClientCPU float64 `json:"client_cpu_us"`
	ServerCPU float64 `json:"server_cpu_us"`
	// Allocated is how much this process allocated, in bytes a message.
	Allocated float64 `json:"allocated_bytes"`
	// MaxRSS is the most memory that the process under test had resident, in MiB
	// (VmHWM of /proc/self/status); 0 for benchmarks that are not about it.
	MaxRSS float64 `json:"max_rss_mb,omitempty"`
	// Beside is the P99 of the same work in the same run without what is measured, in milliseconds; 0
	// for benchmarks that have none.
	Beside float64 `json:"p99_beside_ms,omitempty"`
	// Setup is how many seconds the tables took to be filled before.
	Setup float64 `json:"setup_seconds,omitempty"`
}

// String is the figure in one line.
func (f Figure) String() string {
	line := fmt.Sprintf("%9.0f/s  p50 %8.2f ms  p99 %8.2f ms  cpu %6.1f + %6.1f us  %6.1f kB", f.Rate, f.P50, f.P99, f.ClientCPU, f.ServerCPU, f.Allocated/1000)
	if f.MaxRSS > 0 {
		line += fmt.Sprintf("  max RSS %.1f MB", f.MaxRSS)
	}
	if f.Beside > 0 {
		line += fmt.Sprintf("  p99 without %.2f ms", f.Beside)
	}
	return line
}

// stopwatch measures the time and the processor time of a benchmark.
type stopwatch struct {
	l              *lab
	began          time.Time
	client, server time.Duration
	allocated      uint64
}

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// startWatch is called after the warm-up, and figure when all is done.
func (l *lab) startWatch(ctx context.Context) stopwatch {
	server := l.serverTime(ctx)
	l.started()
	return stopwatch{l: l, server: server, allocated: allocated(), client: processorTime(), began: time.Now()}
}

// figure is what has passed for that many messages.
func (w stopwatch) figure(ctx context.Context, messages int, h *histogram) Figure {
	took := time.Since(w.began)
	w.l.ended()
	client := processorTime() - w.client
	server := max(w.l.serverTime(ctx)-w.server, 0)
	bytes := allocated() - w.allocated
	in := func(unit, d time.Duration) float64 { return float64(d) / float64(unit) }
	return Figure{
		Rate: float64(messages) / took.Seconds(), Messages: messages, Seconds: took.Seconds(),
		P50: in(time.Millisecond, h.percentile(0.50)), P99: in(time.Millisecond, h.percentile(0.99)),
		ClientCPU: in(time.Microsecond, client) / float64(max(messages, 1)),
		ServerCPU: in(time.Microsecond, server) / float64(max(messages, 1)),
		Allocated: float64(bytes) / float64(max(messages, 1)),
	}
}

// report gathers the figures of a run.
type report struct {
	Machine machine            `json:"machine"`
	Figures map[string]Figure  `json:"figures"`
	Ratios  map[string]float64 `json:"ratios"`
	// Expected says of each expectation what was found, and whether it is met.
	Expected []expectation `json:"expected"`

	rounds map[string][]Figure
}

// machine is what the figures depend on.
type machine struct {
	CPUs     int     `json:"cpus"`
	Go       string  `json:"go"`
	Postgres string  `json:"postgres"`
	GOGC     string  `json:"gogc"` // of this process; empty for Go's default
	Seconds  float64 `json:"seconds"`
	Rounds   int     `json:"rounds"`
}

func newReport(ctx context.Context, l *lab, f flags) *report {
	return &report{
		Machine: machine{CPUs: runtime.NumCPU(), Go: runtime.Version(), Postgres: l.version(ctx), GOGC: os.Getenv("GOGC"), Seconds: f.seconds, Rounds: f.rounds},
		rounds:  make(map[string][]Figure),
	}
}

func (r *report) add(name string, f Figure) { r.rounds[name] = append(r.rounds[name], f) }

// settle takes the medians of the figures, and of their ratios in each round: a machine that others slow down for a
// while slows both sides of a round.
func (r *report) settle(ran []benchmark) {
	r.Figures, r.Ratios = make(map[string]Figure), make(map[string]float64)
	for name, figures := range r.rounds {
		r.Figures[name] = median(figures, func(f Figure) float64 { return f.Rate })
	}
	for _, b := range ran {
		for _, other := range b.against {
			own, base := r.rounds[b.name], r.rounds[other]
			var ratios []float64
			for i := range min(len(own), len(base)) {
				if base[i].Rate > 0 {
					ratios = append(ratios, own[i].Rate/base[i].Rate)
				}
			}
			if len(ratios) > 0 {
				r.Ratios[b.ratio(other)] = median(ratios, func(ratio float64) float64 { return ratio })
			}
		}
	}
	r.Expected = r.expectations()
}

// median returns the one in the middle, by the number of each.
func median[T any](of []T, by func(T) float64) T {
	sorted := slices.Clone(of)
	slices.SortFunc(sorted, func(a, b T) int { return cmp.Compare(by(a), by(b)) })
	return sorted[len(sorted)/2]
}

// ratio is the name of b's ratio to another benchmark.
func (b benchmark) ratio(other string) string {
	if i := slices.Index(b.against, other); i >= 0 && i < len(b.labels) {
		other = b.labels[i]
	}
	return b.name + "/" + other
}

func (r *report) print(w io.Writer, asJSON bool, ran []benchmark) error {
	r.settle(ran)
	if asJSON {
		out := json.NewEncoder(w)
		out.SetIndent("", "  ")
		return out.Encode(r)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d CPUs, %s, PostgreSQL %s\n\n", r.Machine.CPUs, r.Machine.Go, r.Machine.Postgres)
	for _, bench := range ran {
		fmt.Fprintf(&b, "%-18s %s\n", bench.name, r.Figures[bench.name])
	}
	b.WriteByte('\n')
	for _, bench := range ran {
		for _, other := range bench.against {
			if ratio, ok := r.Ratios[bench.ratio(other)]; ok {
				fmt.Fprintf(&b, "%-32s %7.2f\n", bench.ratio(other), ratio)
			}
		}
	}
	b.WriteByte('\n')
	for _, e := range r.Expected {
		fmt.Fprintf(&b, "%s\n", e)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
