package main

import "fmt"

// expectation is a bound on a figure or a ratio, for two shared cores with client
// and server together.
type expectation struct {
	// Name is a ratio's, or a figure's and what is meant of it.
	Name string `json:"name"`
	// Least or Most is the bound; 0 means none.
	Least float64 `json:"at_least,omitempty"`
	Most  float64 `json:"at_most,omitempty"`
	// Found is the value of this run, and Met whether it is within the bound.
	Found float64 `json:"found"`
	Met   bool    `json:"met"`

	figure string
	of     func(Figure) float64 // nil for a ratio
}

// String is the expectation in one line.
func (e expectation) String() string {
	bound, result := fmt.Sprintf(">= %g", e.Least), "met"
	if e.Most > 0 {
		bound = fmt.Sprintf("<= %g", e.Most)
	}
	if !e.Met {
		result = "NOT MET"
	}
	return fmt.Sprintf("%-32s %12.2f  expected %-10s %s", e.Name, e.Found, bound, result)
}

func expected() []expectation {
	rate := func(f Figure) float64 { return f.Rate }
	p50 := func(f Figure) float64 { return f.P50 }
	p99 := func(f Figure) float64 { return f.P99 }
	rss := func(f Figure) float64 { return f.MaxRSS }
	beside := func(f Figure) float64 { return f.P99 / f.Beside }
	return append(expectedOfBrokers(), []expectation{
		{Name: "single/byhand", Least: 4.5},
		{Name: "single_1/byhand_1", Least: 1},
		{Name: "batch/byhand", Least: 10},
		{Name: "single_pgx/byhand_pgx", Least: 4},
		{Name: "single_1_pgx/byhand_1_pgx", Least: 1.4},
		{Name: "single_1_pgx_1ms/byhand_1_pgx_1ms", Least: 1.4},
		{Name: "relay_20k/forwarder_20k", Least: 6},
		{Name: "relay_1m/relay_20k", Least: 0.9},
		{Name: "relay_snapshot/relay_300k", Least: 0.9},
		{Name: "latency p50 ms", Most: 5, figure: "latency", of: p50},
		{Name: "latency p99 ms", Most: 20, figure: "latency", of: p99},
		{Name: "duplicates a second", Least: 50_000, figure: "duplicates", of: rate},
		{Name: "failing_5/healthy", Least: 0.66},
		{Name: "failing_5_pgx/healthy_pgx", Least: 0.66},
		{Name: "failing_half/healthy", Least: 0.2},
		{Name: "failing_half_pgx/healthy_pgx", Least: 0.2},
		{Name: "backlog/live", Least: 0.4},
		{Name: "backlog_pgx/live_pgx", Least: 0.4},
		{Name: "backlog_two/backlog", Least: 0.9},
		{Name: "backlog_two_pgx/backlog_pgx", Least: 0.9},
		{Name: "backlog_20ms/live_20ms", Least: 0.9},
		{Name: "backlog_20ms_pgx/live_20ms_pgx", Least: 0.9},
		{Name: "strict/live", Least: 0.33},
		{Name: "strict_pgx/live_pgx", Least: 0.33},
		{Name: "strict_intake/live", Least: 0.33},
		{Name: "strict_intake_pgx/live_pgx", Least: 0.33},
		{Name: "steps messages a second", Least: 1000.0 / stepsEach, figure: "steps", of: rate},
		{Name: "steps/steps_byhand_leased", Least: 0.8},
		{Name: "steps_pgx/steps_byhand_leased_pgx", Least: 0.8},
		{Name: "steps_replayed a second", Least: 50_000, figure: "steps_replayed", of: rate},
		{Name: "after_kill/normal", Least: 0.7},
		{Name: "grown/single", Least: 0.9},
		{Name: "grown_prune/single", Least: 0.9},
		{Name: "dead_list p50 ms", Most: 100, figure: "dead_list", of: p50},
		{Name: "dead_group p50 ms", Most: 100, figure: "dead_group", of: p50},
		{Name: "dead_redrive letters a second", Least: 20_000, figure: "dead_redrive", of: rate},
		{Name: "plan/plan_byhand", Least: 0.8},
		{Name: "plan letters a second", Least: 100_000, figure: "plan", of: rate},
		// Both have to start, and no signal in their process tells the consumer that there is work.
		{Name: "redrive_command/redrive_process", Least: 0.9},
		{Name: "redrive_command letters a second", Least: 1000, figure: "redrive_command", of: rate},
		{Name: "redrive_job letters a second", Least: 1000, figure: "redrive_job", of: rate},
		{Name: "rehearsed p99/p99 without", Most: 1.5, figure: "rehearsed", of: beside},
		{Name: "memory_drain max RSS MB", Most: 64, figure: "memory_drain", of: rss},
		{Name: "memory_pass max RSS MB", Most: 64, figure: "memory_pass", of: rss},
	}...)
}

func expectedOfBrokers() []expectation {
	return []expectation{
		{Name: "kafka_256/plain", Least: 3},
		{Name: "kafka_1/plain", Least: 1},
		{Name: "kafka_waiting_2/kafka_waiting_1", Least: 1.6},
		{Name: "kafka_waiting_4/kafka_waiting_1", Least: 3.2},
		{Name: "amqp_256/plain", Least: 3},
		{Name: "amqp_1/plain", Least: 1},
		{Name: "sqs_256/plain", Least: 3},
		{Name: "sqs_1/plain", Least: 1},
		{Name: "redis_256/plain", Least: 3},
		{Name: "redis_1/plain", Least: 1},
		{Name: "nats_256/plain", Least: 3},
		{Name: "nats_1/plain", Least: 1},
		{Name: "postgres_256/plain", Least: 3},
		{Name: "postgres_1/plain", Least: 1},
	}
}

// expectations are those whose benchmarks ran.
func (r *report) expectations() []expectation {
	var list []expectation
	for _, e := range expected() {
		var ran bool
		if e.of == nil {
			e.Found, ran = r.Ratios[e.Name]
		} else if figure, has := r.Figures[e.figure]; has {
			e.Found, ran = e.of(figure), true
		}
		if ran {
			e.Met = e.Found >= e.Least && (e.Most == 0 || e.Found <= e.Most)
			list = append(list, e)
		}
	}
	return list
}
