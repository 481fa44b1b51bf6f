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
	"slices"
	"strings"
	"syscall"
	"time"
)

// place is where the bugs are, from the root of the repository.
var place = filepath.Join("tests", "planted", "bugs")

// server is the variable that names the PostgreSQL of the checks.
const server = "HEADRACE_TEST_POSTGRES"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "planted: %v\n", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("planted", flag.ContinueOnError)
	only := flags.String("only", "", "plant those bugs only with this at the start of a word of their `name`, or one of several (54-,55-)")
	part := flags.String("part", "", "plant only the K-th of N parts of them, `K/N`")
	list := flags.Bool("list", false, "list the bugs with their checks, and plant none")
	verbose := flags.Bool("v", false, "print what each check prints")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%q: it takes flags alone; -only NAME plants one bug", flags.Arg(0))
	}
	all, err := bugs(place)
	if err != nil {
		return err
	}
	for part := range strings.SplitSeq(*only, ",") {
		if !slices.ContainsFunc(all, func(b bug) bool { return b.named(part) }) {
			return fmt.Errorf("no bug's name has %q; -list shows them", part)
		}
	}
	chosen := all[:0]
	for _, b := range all {
		if slices.ContainsFunc(strings.Split(*only, ","), b.named) {
			chosen = append(chosen, b)
		}
	}
	if *part != "" {
		if chosen, err = share(chosen, *part); err != nil {
			return err
		}
	}
	switch {
	case *list:
		for i := range chosen {
			b := &chosen[i]
			fmt.Fprintf(out, "%s: %s\n  breaks %s\n  %s\n", b.name, b.does, b.breaks, b.command())
		}
		return nil
	case os.Getenv(server) == "":
		return fmt.Errorf("%s names no server: run make planted, or see scripts/services", server)
	}
	return (&session{out: out, bugs: chosen, verbose: *verbose}).run(ctx)
}

// share returns the K-th of N parts of all; part is K/N.
func share(all []bug, part string) ([]bug, error) {
	var k, n int
	if _, err := fmt.Sscanf(part, "%d/%d", &k, &n); err != nil || k < 1 || k > n {
		return nil, fmt.Errorf("-part %q: give K/N, as in 1/3: the first of three parts", part)
	}
	var chosen []bug
	for i := k - 1; i < len(all); i += n {
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

// session plants bugs in one copy of the tree.
type session struct {
	out     io.Writer
	bugs    []bug
	verbose bool
	tree    *tree
	missed  int
}

func (s *session) run(ctx context.Context) (err error) {
	start := time.Now()
	if s.tree, err = copyTree(ctx, "."); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.tree.remove()) }()
	if err := s.unharmed(ctx); err != nil {
		return err
	}
	for i := range s.bugs {
		if err := s.plant(ctx, &s.bugs[i]); err != nil {
			return fmt.Errorf("%s: %w", s.bugs[i].name, err)
		}
	}
	if s.missed > 0 {
		return fmt.Errorf("%d of %d bugs were not found", s.missed, len(s.bugs))
	}
	fmt.Fprintf(s.out, "planted: all %d bugs were found, in %s\n", len(s.bugs), time.Since(start).Round(time.Second))
	return nil
}

// unharmed runs every check on the copy as it is, those of a package together.
func (s *session) unharmed(ctx context.Context) error {
	var packages []string
	checks := make(map[string][]string)
	for _, b := range s.bugs {
		if checks[b.pkg] == nil {
			packages = append(packages, b.pkg)
		}
		checks[b.pkg] = append(checks[b.pkg], b.run)
	}
	for _, pkg := range packages {
		start := time.Now()
		output, err := s.tree.goTest(ctx, pkg, strings.Join(checks[pkg], "|"))
		for i := range s.bugs {
			if b := &s.bugs[i]; b.pkg == pkg && err == nil {
				if err = b.green(output); err != nil {
					err = fmt.Errorf("the check for %s: %w", b.name, err)
				}
			}
		}
		if err != nil {
			if !errors.Is(err, context.Canceled) {
				fmt.Fprintln(s.out, output)
			}
			return fmt.Errorf("without a bug, %s: %w", pkg, err)
		}
		s.tell("green", pkg, fmt.Sprintf("without a bug: %d checks", len(checks[pkg])), start, output)
	}
	return nil
}

// runs is how often a check may run until it turns red: some bugs are races, which a busy
// machine wins now and then.
const runs = 3

// plant plants b, runs its check, and takes it out. A bug that is not found is told, and
// no error: the others are planted all the same.
func (s *session) plant(ctx context.Context, b *bug) error {
	start := time.Now()
	takeOut, err := s.tree.plant(ctx, b)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		s.missed++
		s.tell("STALE", b.name, "its diff cannot be applied any more", start, err.Error())
		return nil
	}
	var output string
	run := 0
	for err = errHarmless; errors.Is(err, errHarmless) && run < runs; run++ {
		if output, err = s.tree.goTest(ctx, b.pkg, b.run); err == nil {
			err = b.found(output)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	switch {
	case err == nil && run == 1:
		s.tell("red", b.name, b.red, start, output)
	case err == nil:
		s.tell("red", b.name, fmt.Sprintf("%s, at run %d", b.red, run), start, output)
	default:
		s.missed++
		s.tell("MISSED", b.name, fmt.Sprintf("%s: %v", b.command(), err), start, output)
	}
	if err := takeOut(); err != nil {
		return fmt.Errorf("take the bug out again: %w", err)
	}
	return nil
}

// tell prints a line, and what the check printed where that matters.
func (s *session) tell(word, what, more string, start time.Time, output string) {
	fmt.Fprintf(s.out, "%-6s %s: %s (%s)\n", word, what, more, time.Since(start).Round(100*time.Millisecond))
	if s.verbose || word == "MISSED" || word == "STALE" {
		fmt.Fprintln(s.out, strings.TrimRight(output, "\n"))
	}
}
