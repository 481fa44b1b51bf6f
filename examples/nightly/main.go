package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/headrace/headrace/examples/internal/database"
)

func main() {
	ctx, restore := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer restore()
	if err := program(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(os.Stderr, "nightly: %v\n", err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	database.Place
	n, nights int
	// Of the child: its address, the shop's URL and the night.
	at, shop string
	night    int
}

// program is the whole scene, or with the argument "worker" its child.
func program(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	worker := len(args) > 0 && args[0] == "worker"
	if worker {
		args = args[1:]
	}
	var o options
	flags := flag.NewFlagSet("nightly", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&o.n, "n", 30, "how many `orders` the shop sells a day")
	flags.IntVar(&o.nights, "nights", 3, "how many `nights` there are; in each the process is killed twice")
	o.Flags(flags, "booked")
	if worker {
		flags.StringVar(&o.at, "at", "", "the address to listen on")
		flags.StringVar(&o.shop, "shop", "", "the URL of the shop")
		flags.IntVar(&o.night, "night", 0, "the night to reconcile")
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 || o.n < 1 || o.nights < 1 {
		return errors.New("give -n and -nights of at least 1; -h shows the flags")
	}
	if worker {
		return o.worker(ctx)
	}
	return o.scene(ctx, stdout)
}

func say(w io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(w, format+"\n", args...) }
