package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"text/tabwriter"

	"github.com/headrace/headrace/examples/router/shop"
)

func main() {
	slog.SetLogLoggerLevel(slog.LevelError) // the failures are on purpose
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "router:", err)
		stop()
		os.Exit(1)
	}
}

// run runs the service before and after, and prints what became of the messages.
func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("router", flag.ContinueOnError)
	flags.SetOutput(out)
	orm := flags.String("orm", "sqlc", "what the handler writes with: sqlc or gorm")
	n := flags.Int("n", 200, "how many messages")
	if err := flags.Parse(args); err != nil {
		return err
	}
	services, ok := versions[*orm]
	if !ok {
		return fmt.Errorf("-orm %s: sqlc or gorm", *orm)
	}
	if *n < 1 {
		return fmt.Errorf("-n %d: at least 1", *n)
	}
	dir, err := os.MkdirTemp("", "headrace-router")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	before, err := try(ctx, dir+"/before.db", *n, services.before)
	if err != nil {
		return fmt.Errorf("before: %w", err)
	}
	after, err := try(ctx, dir+"/after.db", *n, services.after)
	if err != nil {
		return fmt.Errorf("after: %w", err)
	}
	if err := table(out, *orm, before, after); err != nil {
		return err
	}
	if after.lost > 0 || after.appliedTwice > 0 || after.announcedTwice > 0 {
		return fmt.Errorf("the safe version lost messages or applied some twice")
	}
	return nil
}

func table(out io.Writer, orm string, before, after figures) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "%s\tbefore\tafter\t \n", orm)
	for _, row := range []struct {
		name          string
		before, after int
		what          string
	}{
		{"delivered", before.delivered, after.delivered, "deliveries by the broker"},
		{"messages", before.messages, after.messages, "distinct messages among them"},
		{"applied", before.applied, after.applied, "orders that have an invoice"},
		{"dead", before.dead, after.dead, "kept as dead letters"},
		{"lost", before.lost, after.lost, "neither of these"},
		{"applied twice", before.appliedTwice, after.appliedTwice, "orders with more than one invoice"},
		{"announced", before.announced, after.announced, "invoices announced on " + shop.Created},
		{"announced twice", before.announcedTwice, after.announcedTwice, "of them more than once"},
	} {
		fmt.Fprintf(t, "%s\t%d\t%d\t  %s\n", row.name, row.before, row.after, row.what)
	}
	return t.Flush()
}
