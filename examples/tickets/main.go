package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"syscall"

	"github.com/headrace/headrace/examples/internal/child"
	"github.com/headrace/headrace/examples/internal/database"
)

func main() {
	ctx, restore := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer restore()
	if err := program(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(os.Stderr, "tickets: %v\n", err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	database.Place
	n, kills int
	faults   float64
	other    string // of a child: the URL of the stand-ins
}

// program is the whole scene, or with the argument "worker" its child.
func program(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	worker := len(args) > 0 && args[0] == "worker"
	if worker {
		args = args[1:]
	}
	var o options
	flags := flag.NewFlagSet("tickets", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&o.n, "n", 40, "how many `mails` there are; four of them have one text")
	flags.IntVar(&o.kills, "kills", 3, "how `often` the consumer's process is killed")
	flags.Float64Var(&o.faults, "faults", 0.1, "the `share` of requests that the stand-ins fail, or do not answer")
	o.Flags(flags, "answered")
	if worker {
		flags.StringVar(&o.other, "outside", "", "the URL of the stand-ins")
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 || o.n < 1 || o.kills < 0 || o.faults < 0 || o.faults > 0.5 {
		return errors.New("give -n of at least 1, -kills of at least 0 and -faults between 0 and 0.5; -h shows the flags")
	}
	if worker {
		return o.worker(ctx)
	}
	return o.scene(ctx, stdout)
}

// worker is the process that is killed: the consumer.
func (o *options) worker(ctx context.Context) error {
	slog.SetLogLoggerLevel(slog.LevelWarn)
	d, err := o.Open(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	c, err := newConsumer(d, newTriage(httpModel{url: o.other, http: &http.Client{}}, o.other))
	if err != nil {
		return err
	}
	return c.Run(child.UntilParentEnds(ctx))
}

func say(w io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(w, format+"\n", args...) }
