package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/headrace/headrace/inbox"
)

// missingPage is how many keys one statement asks for, and are held at a time.
const missingPage = 1000

func (m *Main) missingCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "missing SCOPE < KEYS",
		Short: "of the keys on stdin, one a line, print those that were never taken",
		Long: `Compares with a source of truth: prints the keys, of those on stdin, that have no row in a
scope, which is CONSUMER/HANDLER. Their messages were never delivered, have not arrived yet,
or are longer ago than retention keeps; those that wait, are dead or were discarded are not
missing. With -o json it prints one JSON string a line.

Exit status: 0 nothing is missing, 1 something is, or it failed, 3 it ended in the middle.`,
		Example: "  psql -Atc 'SELECT id FROM orders WHERE paid_at < now() - interval $$1h$$' | headrace inbox missing billing/orders.paid",
		Args:    one("SCOPE"),
		RunE: m.do(func(ctx context.Context, args []string) error {
			if consumer, handler, ok := strings.Cut(args[0], "/"); !ok || consumer == "" || handler == "" {
				return usagef("%q is no scope: it is CONSUMER/HANDLER, as `%s` prints it", short(args[0], 80), m.command("inbox show"))
			}
			return m.withStore(ctx, func(st openStore) error {
				work, stop := m.Interruptible(ctx)
				defer stop()
				return m.missing(work, st.Operations().Finder, args[0])
			})
		}),
	}
}

// missing reads keys, asks for them page by page, and prints what is missing as it goes.
func (m *Main) missing(ctx context.Context, f inbox.Finder, scope string) error {
	lines := bufio.NewScanner(m.Stdin)
	bar := m.progress("keys compared", 0)
	defer bar.end()
	read, missing := 0, 0
	page := make([]string, 0, missingPage)
	ask := func() error {
		found, err := inbox.Missing(ctx, f, scope, slices.Values(page))
		if err != nil {
			return err
		}
		read, missing, page = read+len(page), missing+len(found), page[:0]
		bar.step(read)
		return m.printKeys(found)
	}
	var err error
	for err == nil && ctx.Err() == nil && lines.Scan() {
		if key := strings.TrimSuffix(lines.Text(), "\r"); key != "" {
			page = append(page, key)
		}
		if len(page) == missingPage {
			err = ask()
		}
	}
	if err == nil && ctx.Err() == nil && lines.Err() == nil && len(page) > 0 {
		err = ask()
	}
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("%w after %s", errInterrupted, plural(read, "key", "keys"))
	case errors.Is(lines.Err(), bufio.ErrTooLong):
		err = usagef("stdin, after %s: a line is too long for a key", plural(read+len(page), "key", "keys"))
	case err == nil && lines.Err() != nil:
		err = fmt.Errorf("read keys from stdin: %w", lines.Err())
	}
	if err != nil && read > 0 && !errors.Is(err, errClosedPipe) {
		m.say("ended early, after %s: %v", plural(read, "key", "keys"), err)
		return errIncomplete
	}
	if err == nil && missing > 0 {
		m.say("%d of %s missing", missing, plural(read, "key is", "keys are"))
		return errFound
	}
	return err
}

// printKeys prints keys, escaped.
func (m *Main) printKeys(keys []string) error {
	for _, key := range keys {
		if m.json() {
			if err := m.emitJSON(key); err != nil {
				return err
			}
			continue
		}
		if err := m.line("%s", key); err != nil {
			return err
		}
	}
	return m.out.Flush()
}
