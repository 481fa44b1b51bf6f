package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

func main() {
	ctx, restore := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer restore()
	if err := program(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(os.Stderr, "nobroker: %v\n", err)
		os.Exit(1)
	}
}

// program asks for orders, waits until each has its invoice, and prints the figures.
func program(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	flags := flag.NewFlagSet("nobroker", flag.ContinueOnError)
	flags.SetOutput(stderr)
	n := flags.Int("n", 1000, "how many requests there shall be in all")
	file := flags.String("db", "", "keep everything in this SQLite file; default is a temporary one")
	dsn := flags.String("dsn", "", "use this PostgreSQL database, postgres://…, instead of SQLite")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 || *n < 0 || *file != "" && *dsn != "" {
		return errors.New("give -n, and -db or -dsn; -h shows the flags")
	}
	if *file == "" && *dsn == "" {
		dir, err := os.MkdirTemp("", "nobroker")
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
		*file = filepath.Join(dir, "nobroker.db")
	}
	s, err := open(ctx, *file, *dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := s.run(ctx, *n); err != nil {
		return err
	}
	return s.report(ctx, stdout)
}
