package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/headrace/headrace/tests/pages"
)

type options struct {
	python   string
	n, kills int
	only     string
	write    string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "foreign:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	var o options
	flags := flag.NewFlagSet("foreign", flag.ContinueOnError)
	flags.StringVar(&o.python, "python", "python3", "the Python `program` that has the clients of tests/foreign/requirements.txt")
	flags.IntVar(&o.n, "n", 5000, "messages for each broker")
	flags.IntVar(&o.kills, "kills", 4, "workers to kill for each broker")
	flags.StringVar(&o.only, "only", "", "`brokers` to try, as in kafka,nats; default: all")
	flags.StringVar(&o.write, "write", "", "also write the table into this `page`, between its marks")
	worker := flags.Bool("worker", false, "be a worker; the program starts these itself")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil
		}
		return err
	}
	if *worker {
		a := flags.Args()
		p := place{a[0], a[1], a[2], a[3], a[4]}
		return work(ctx, brokers[slices.IndexFunc(brokers, func(b broker) bool { return b.name == p.broker })], p)
	}
	if o.n < 1 || o.kills < 0 {
		return fmt.Errorf("-n is %d and -kills %d: give a positive number of messages, and no negative one of kills", o.n, o.kills)
	}
	chosen, err := choose(o.only)
	if err != nil {
		return err
	}
	rows := "| broker | client | messages | workers killed | frozen | broker killed | lost | applied twice | dead letters | took |\n|---|---|---|---|---|---|---|---|---|---|\n"
	fmt.Print(rows)
	wrong := false
	for _, b := range chosen {
		r, err := try(ctx, b, o)
		if err != nil {
			return fmt.Errorf("%s: %w", b.name, err)
		}
		row := fmt.Sprintf("| %s | %s | %d | %d | %d | %d | %d | %d | %d | %s |\n",
			r.broker, r.client, r.sent, r.killed, r.frozen, r.restarted, r.lost, r.twice, r.letters, r.took.Round(time.Second))
		fmt.Print(row)
		rows += row
		wrong = wrong || r.lost != 0 || r.twice != 0 || r.violated != 0
	}
	if wrong {
		return errors.New("messages were lost or applied twice, or an invariant is broken")
	}
	if o.write == "" {
		return nil
	}
	return writeTable(o.write, rows)
}

// writeTable replaces the table of a page.
func writeTable(path, rows string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("-write: %w", err)
	}
	changed, err := pages.Replace(string(text), "foreign", rows)
	if err != nil {
		return fmt.Errorf("-write %s: %w", path, err)
	}
	if err := os.WriteFile(path, []byte(changed), 0o644); err != nil {
		return fmt.Errorf("-write: %w", err)
	}
	return nil
}

// choose returns the brokers of a list of names; all of them for an empty one.
func choose(only string) ([]broker, error) {
	if only == "" {
		return brokers, nil
	}
	var chosen []broker
	for name := range strings.SplitSeq(only, ",") {
		i := slices.IndexFunc(brokers, func(b broker) bool { return b.name == name })
		if i < 0 {
			return nil, fmt.Errorf("-only: there is no broker %q; there are kafka, rabbitmq, sqs, nats, redis and postgres", name)
		}
		chosen = append(chosen, brokers[i])
	}
	return chosen, nil
}
