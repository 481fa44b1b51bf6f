package story

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// options are what the flags say.
type options struct {
	n    int
	seed uint64
	in   string
	db   string
	dsn  string
	json bool
	log  bool
	// metrics is where they are served; hold keeps the consumer running, to look at them or to redrive dead letters.
	metrics string
	hold    bool
}

// Exit codes.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
	exitBroken = 130 // Ctrl-C, as shells say it
)

// Main is the program examples/orders: it runs p with a source of its own, until all is
// settled. It returns the exit status.
func Main(p Program, args []string, stdin io.Reader, stdout io.Writer, stderr *os.File) int {
	o, err := parseFlags(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitDone
	case err != nil:
		fmt.Fprintf(stderr, "orders: %v\n", err)
		return exitUsage
	}
	ctx, restore := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer restore()
	context.AfterFunc(ctx, restore) // a second Ctrl-C ends the process at once
	err = run(ctx, p, o, stdin, stdout, stderr)
	if err == nil {
		return exitDone
	}
	fmt.Fprintf(stderr, "orders: %v\n", err)
	if errors.Is(err, errInterrupted) {
		return exitBroken
	}
	return exitFailed
}

func parseFlags(args []string, stderr io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("orders", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&o.n, "n", 2000, "how many webhooks to generate")
	flags.Uint64Var(&o.seed, "seed", 1, "the same seed generates the same webhooks")
	flags.StringVar(&o.in, "in", "", "read webhooks from this file of JSON lines instead, - for standard input")
	flags.StringVar(&o.db, "db", "", "keep everything in this SQLite file; default is a temporary one")
	flags.StringVar(&o.dsn, "dsn", "", "use this PostgreSQL database, postgres://…, instead of SQLite")
	flags.BoolVar(&o.json, "json", false, "print the figures as one JSON object, and nothing else")
	flags.StringVar(&o.metrics, "metrics", "", "serve metrics for Prometheus on this host:port while it runs")
	flags.BoolVar(&o.hold, "hold", false, "go on until Ctrl-C when everything is settled")
	flags.BoolVar(&o.log, "v", false, "show what the consumer logs")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	set := make(map[string]bool)
	flags.Visit(func(f *flag.Flag) { set[f.Name] = true })
	switch {
	case flags.NArg() > 0 && o.dsn != "":
		return o, errors.New("unexpected argument after the flags; is the DSN in quotes? (it is not shown here)")
	case flags.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q; -h shows the flags", flags.Arg(0))
	case o.n < 0:
		return o, fmt.Errorf("-n is %d; it must not be negative", o.n)
	case set["in"] && o.in == "":
		return o, errors.New("-in is empty; give a file, or - for standard input")
	case o.in != "" && (set["n"] || set["seed"]):
		return o, errors.New("-n and -seed are for generated webhooks; leave them out with -in")
	case o.db != "" && o.dsn != "":
		return o, errors.New("-db and -dsn exclude each other")
	case set["metrics"] && o.metrics == "":
		return o, errors.New("-metrics is empty; give host:port")
	case o.metrics != "":
		return o, checkAddress(o.metrics)
	}
	return o, nil
}
