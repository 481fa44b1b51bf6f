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
	"path/filepath"
	"syscall"

	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/examples/internal/child"
	"github.com/headrace/headrace/examples/internal/database"
	"github.com/headrace/headrace/examples/internal/sender"
	"github.com/headrace/headrace/webhook"
)

func main() {
	ctx, restore := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer restore()
	if err := program(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(os.Stderr, "invoices: %v\n", err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	database.Place
	n, kills  int
	faults    float64
	at, other string // addresses of a child process, and of the systems that it calls
}

// program is the whole scene, or with the argument "systems" or "worker" one of its processes.
func program(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	role := ""
	if len(args) > 0 && (args[0] == "systems" || args[0] == "worker") {
		role, args = args[0], args[1:]
	}
	var o options
	flags := flag.NewFlagSet("invoices", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&o.n, "n", 40, "how many `orders` the shop sends")
	flags.IntVar(&o.kills, "kills", 5, "how `often` the consumer's process is killed")
	flags.Float64Var(&o.faults, "faults", 0.1, "the `share` of requests that the systems fail, answer late or not at all")
	o.Flags(flags, "synced")
	if role != "" {
		flags.StringVar(&o.at, "at", "", "the address to listen on")
		flags.StringVar(&o.other, "systems", "", "the URL of the systems")
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 || o.n < 1 || o.kills < 0 || o.faults < 0 || o.faults > 0.5 {
		return errors.New("give -n of at least 1, -kills of at least 0 and -faults between 0 and 0.5; -h shows the flags")
	}
	switch role {
	case "systems":
		return o.systems(ctx)
	case "worker":
		return o.worker(ctx)
	}
	return o.scene(ctx, stdout)
}

func (o *options) log() string { return filepath.Join(o.Dir, "statements.log") }

// systems is the process of the four systems.
func (o *options) systems(ctx context.Context) error {
	systems, err := openOutside(o.log(), o.faults)
	if err != nil {
		return err
	}
	return errors.Join(child.Serve(child.UntilParentEnds(ctx), o.at, systems), systems.log.Close())
}

// worker is the process that is killed: an HTTP server for the webhooks, and the consumer.
func (o *options) worker(ctx context.Context) error {
	slog.SetLogLoggerLevel(slog.LevelWarn)
	d, err := o.Open(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	hooks := webhook.NewSource(webhook.Options{})
	defer func() { _ = hooks.Close() }()
	mux := http.NewServeMux()
	mux.Handle("POST /hooks/orders", hooks.Endpoint("orders", webhook.Shopify(sender.Secret)))
	c, err := newConsumer(d, newSystems(o.other), hooks, consumer.Config{})
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(child.UntilParentEnds(ctx))
	defer stop()
	served := make(chan error, 1)
	go func() {
		defer stop()
		served <- child.Serve(ctx, o.at, mux)
	}()
	err = c.Run(ctx)
	stop()
	return errors.Join(err, <-served)
}
