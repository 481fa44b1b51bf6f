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

// brokerOptions are what the flags of a program over a broker say.
type brokerOptions struct {
	options
	address  string // "" finds one
	services string
	workers  int
}

// OverBroker is the program examples/NAME over b: it runs p in as many processes as the
// flags ask for. It returns the exit status.
func OverBroker(b Broker, p Program, args []string, stdin io.Reader, stdout io.Writer, stderr *os.File) int {
	if orders := os.Getenv(workerVariable); orders != "" {
		return workerProcess(b, p, orders, stdin, stderr)
	}
	o, err := parseBrokerFlags(b, args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitDone
	case err != nil:
		fmt.Fprintf(stderr, "%s: %v\n", b.Name, err)
		return exitUsage
	}
	ctx, restore := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer restore()
	context.AfterFunc(ctx, restore) // a second Ctrl-C ends the process at once
	err = runOver(ctx, b, p, o, stdin, stdout, stderr)
	if err == nil {
		return exitDone
	}
	fmt.Fprintf(stderr, "%s: %v\n", b.Name, err)
	if errors.Is(err, errInterrupted) {
		return exitBroken
	}
	return exitFailed
}

func parseBrokerFlags(b Broker, args []string, stderr io.Writer) (brokerOptions, error) {
	var o brokerOptions
	flags := flag.NewFlagSet(b.Name, flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&o.n, "n", 2000, "how many webhooks to generate")
	flags.Uint64Var(&o.seed, "seed", 1, "the same seed generates the same webhooks")
	flags.StringVar(&o.in, "in", "", "read webhooks from this file of JSON lines instead, - for standard input")
	flags.StringVar(&o.db, "db", "", "keep everything in this SQLite file; default is a temporary one")
	flags.StringVar(&o.dsn, "dsn", "", "use this PostgreSQL database, postgres://…, instead of SQLite")
	flags.BoolVar(&o.json, "json", false, "print the figures as one JSON object, and nothing else")
	flags.BoolVar(&o.log, "v", false, "show what the consumer logs")
	flags.StringVar(&o.address, "broker", "", "where the broker is; default "+b.Compose+", where docker compose has it")
	flags.StringVar(&o.services, "services", "", "native: start a broker on this machine without docker, and stop it at the end; default where none runs and no docker engine answers")
	flags.IntVar(&o.workers, "workers", 1, "how many processes consume")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	return o, o.check(flags)
}

func (o brokerOptions) check(flags *flag.FlagSet) error {
	set := make(map[string]bool)
	flags.Visit(func(f *flag.Flag) { set[f.Name] = true })
	switch {
	case flags.NArg() > 0 && o.dsn != "":
		return errors.New("unexpected argument after the flags; is the DSN in quotes? (it is not shown here)")
	case flags.NArg() > 0:
		return fmt.Errorf("unexpected argument %q; -h shows the flags", flags.Arg(0))
	case o.n < 0:
		return fmt.Errorf("-n is %d; it must not be negative", o.n)
	case set["in"] && o.in == "":
		return errors.New("-in is empty; give a file, or - for standard input")
	case o.in != "" && (set["n"] || set["seed"]):
		return errors.New("-n and -seed are for generated webhooks; leave them out with -in")
	case o.db != "" && o.dsn != "":
		return errors.New("-db and -dsn exclude each other")
	case o.services != "" && o.services != "native":
		return fmt.Errorf("-services is %q; it may be native", o.services)
	case o.services != "" && o.address != "":
		return errors.New("-services starts a broker, and -broker names one that runs: give one of them")
	case o.workers < 1 || o.workers > 64:
		return fmt.Errorf("-workers is %d; 1 to 64", o.workers)
	}
	return nil
}
