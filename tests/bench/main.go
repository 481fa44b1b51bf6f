package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// flags are the command's arguments.
type flags struct {
	dsn     string
	only    string
	single  string
	seconds float64
	rounds  int
	json    bool
	// markdown prints the tables of docs/costs.md.
	markdown bool
	profile  string
	memory   string
	list     bool
	// brokers measures those brokers instead.
	brokers string

	concurrency, maxBatch int
	gogc                  int
	grownRows             int
}

func main() {
	signal.Ignore(syscall.SIGPIPE) // a reader that has seen enough must not keep us from cleaning up
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	if child := os.Getenv(childVariable); child != "" {
		os.Exit(childMain(ctx, child))
	}
	status := 0
	if err := run(ctx, parse()); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		status = 1
	}
	stop()
	os.Exit(status)
}

func parse() flags {
	var f flags
	flag.StringVar(&f.dsn, "dsn", os.Getenv("HEADRACE_TEST_POSTGRES"),
		"PostgreSQL `URL`; the role must be allowed to create a database. Default: HEADRACE_TEST_POSTGRES, else a server of its own")
	flag.StringVar(&f.only, "only", "", "run only these parts or benchmarks, `NAME[,NAME]`, and what their ratios are against")
	flag.StringVar(&f.single, "case", "", "run the one benchmark `NAME` alone, without what its ratios are against")
	flag.Float64Var(&f.seconds, "seconds", 5, "how long each benchmark measures, after a warm-up of a fifth of that")
	flag.IntVar(&f.rounds, "rounds", 1, "how often to run everything; the median counts, of a ratio that of each round")
	flag.BoolVar(&f.json, "json", false, "print one JSON object on stdout, and nothing else there")
	flag.BoolVar(&f.markdown, "markdown", false, "print the tables of docs/costs.md")
	flag.StringVar(&f.profile, "cpuprofile", "", "write a CPU profile of this process to `FILE`")
	flag.StringVar(&f.memory, "memprofile", "", "write a profile of this process's allocations to `FILE`")
	flag.IntVar(&f.concurrency, "concurrency", 0, "consumer.Config.Concurrency; 0 is its default")
	flag.IntVar(&f.maxBatch, "max-batch", 0, "consumer.Config.MaxBatch; 0 is its default")
	flag.IntVar(&f.grownRows, "grown-rows", 10_000_000, "how many messages the inbox of the part grown remembers already")
	flag.Var(&brokerNames{&f.brokers}, "brokers", "measure consumers on the brokers instead, or with =`NAME[,NAME]` on some; each is at the address of its variable (HEADRACE_TEST_KAFKA), else started")
	flag.IntVar(&f.gogc, "gogc", 400, "GOGC of this process, for both sides, where the environment does not set it")
	flag.BoolVar(&f.list, "list", false, "print the names of all benchmarks, and end")
	flag.Parse()
	if flag.NArg() > 0 || f.seconds <= 0 || f.rounds < 1 || f.grownRows < 1 || f.gogc < 1 {
		flag.Usage()
		os.Exit(2)
	}
	return f
}

func run(ctx context.Context, f flags) (err error) {
	if f.list {
		for _, b := range benchmarks() {
			fmt.Printf("%-12s %-18s %s\n", b.part, b.name, b.says)
		}
		return nil
	}
	chosen, stop, err := f.choose(ctx)
	if err != nil {
		return err
	}
	defer stop()
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(f.gogc)
		if err := os.Setenv("GOGC", strconv.Itoa(f.gogc)); err != nil { // for child processes
			return err
		}
	}
	if f.dsn == "" {
		server, err := startServer(ctx, "postgres", "HEADRACE_TEST_POSTGRES")
		if err != nil {
			return fmt.Errorf("start PostgreSQL: %w", err)
		}
		defer server.stop()
		f.dsn = server.at
	}
	l, err := newLab(ctx, f.dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	l.config.Concurrency, l.config.MaxBatch, l.grownRows = f.concurrency, f.maxBatch, f.grownRows
	end, err := profile(f.profile, f.memory)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	r := newReport(ctx, l, f)
	amount := amount{time: time.Duration(f.seconds * float64(time.Second))}
	for round := range f.rounds {
		for _, b := range chosen {
			fmt.Fprintf(os.Stderr, "%-18s ", b.name)
			figure, err := l.measure(ctx, b, amount)
			if err != nil {
				fmt.Fprintln(os.Stderr)
				return fmt.Errorf("%s: %w", b.name, err)
			}
			fmt.Fprintln(os.Stderr, strings.TrimSpace(figure.String()), progress(round, f.rounds))
			r.add(b.name, figure)
		}
	}
	if f.markdown {
		r.settle(chosen)
		_, err := io.WriteString(os.Stdout, r.markdown(chosen))
		return err
	}
	return r.print(os.Stdout, f.json, chosen)
}

func progress(round, rounds int) string {
	if rounds == 1 {
		return ""
	}
	return fmt.Sprintf("(round %d of %d)", round+1, rounds)
}
