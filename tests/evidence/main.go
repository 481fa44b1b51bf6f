package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// page is the document, from the root of the repository.
var page = filepath.Join("docs", "reliability.md")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, ".", os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "evidence: %v\n", err)
		stop()
		os.Exit(1)
	}
}

// run does what args ask for, in the repository at root.
func run(ctx context.Context, root string, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("evidence", flag.ContinueOnError)
	flags.SetOutput(out)
	check := flags.Bool("check", false, "write nothing; fail unless the table in docs/reliability.md is current")
	claims := flags.String("run", "", "run the tests of these `claims` (once, or once,ack), with the servers that they need")
	flags.Usage = func() {
		fmt.Fprintln(out, "Usage: go run ./tests/evidence [-check | -run claims]\n\nWithout a flag it writes the table of docs/reliability.md: which tests show which claim.")
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%q: it takes flags alone; -run NAME runs the tests of one claim", flags.Arg(0))
	}
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		return fmt.Errorf("%w: run this in the root of the repository", err)
	}
	e, err := gather(root, string(text))
	if err != nil {
		return err
	}
	if *claims != "" {
		return e.runTests(ctx, root, strings.Split(*claims, ","), out)
	}
	current, err := e.write(string(text))
	if err != nil {
		return err
	}
	switch {
	case current == string(text):
		return nil
	case *check:
		return errors.New("the table of docs/reliability.md is not current: run go run ./tests/evidence")
	}
	return os.WriteFile(filepath.Join(root, page), []byte(current), 0o644)
}

// runTests runs the tests of claims with one go test.
func (e *evidence) runTests(ctx context.Context, root string, claims []string, out io.Writer) error {
	packages, pattern, err := e.goTest(claims)
	if err != nil {
		return err
	}
	args := append(packages, "-count=1", "-run", pattern)
	fmt.Fprintf(out, "scripts/test %s\n", strings.Join(args, " "))
	cmd := exec.CommandContext(ctx, filepath.Join("scripts", "test"), args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.Dir, cmd.Stdout, cmd.Stderr = root, out, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("the tests of %s: %w", strings.Join(claims, ", "), err)
	}
	return nil
}

// goTest returns the packages and the pattern for go test.
func (e *evidence) goTest(claims []string) (packages []string, pattern string, err error) {
	var patterns []string
	for _, name := range claims {
		if !slices.Contains(e.claims, name) {
			return nil, "", fmt.Errorf("docs/reliability.md has no claim %q", name)
		}
		for _, t := range e.tests[name] {
			packages, patterns = append(packages, t.packages...), append(patterns, t.pattern)
		}
	}
	for _, list := range []*[]string{&packages, &patterns} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return packages, strings.Join(patterns, "|"), nil
}
