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

// missingPage is how many keys one statement looks up, and how many are held in memory.
const missingPage = 1000

func (m *Main) missingCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "missing SCOPE < KEYS",
		Short: "print the keys from stdin, one per line, that the inbox does not have",
		Long: `Compares the inbox with a source of truth: prints the keys from stdin that have no row in the scope
CONSUMER/HANDLER. Their messages were never delivered, have not arrived yet, or are older than the
retention. Messages that wait, are dead or were discarded are not missing. An unknown scope is an error.

Exit status 0 if no key is missing, 1 if keys are missing or it failed, 3 if it ended early, 130 if interrupted.`,
		Example: "  psql -Atc 'SELECT id FROM orders WHERE paid_at < now() - interval $$1h$$' | headrace inbox missing billing/orders.paid",
		Args:    one("SCOPE"),
		RunE: m.do(func(ctx context.Context, args []string) error {
			if consumer, handler, ok := strings.Cut(args[0], "/"); !ok || consumer == "" || handler == "" {
				return usagef("%q is no scope: it is CONSUMER/HANDLER, as `%s` prints it", short(args[0], 80), m.command("inbox show"))
			}
			return m.withStore(ctx, func(st openStore) error {
				finder := st.Operations().Finder
				if err := m.knownScope(ctx, finder, args[0]); err != nil {
					return err
				}
				work, stop := m.Interruptible(ctx)
				defer stop()
				return m.missing(work, finder, args[0])
			})
		}),
	}
}

// scopesShown is how many scopes an error names.
const scopesShown = 10

// knownScope returns errFound, after it has said so, if no message of scope was ever taken:
// then each key would be missing, mostly because the scope is misspelled.
func (m *Main) knownScope(ctx context.Context, f inbox.Finder, scope string) error {
	scopes, err := f.Scopes(ctx)
	if err != nil || slices.Contains(scopes, scope) {
		return err
	}
	m.say("the scope %q is unknown: the inbox never had a message of it, or retention removed them all", short(scope, 80))
	if n := len(scopes); n > scopesShown {
		m.say("known are %s and %d more", strings.Join(scopes[:scopesShown], ", "), n-scopesShown)
	} else if n > 0 {
		m.say("known: %s", strings.Join(scopes, ", "))
	}
	return errFound
}

// missing reads keys, looks them up page by page, and prints the missing ones as it goes.
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
		first := missing == 0
		read, missing, page = read+len(page), missing+len(found), page[:0]
		bar.step(read)
		return m.printKeys(found, first)
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
	if err == nil && read == 0 {
		m.say("stdin has no key")
	}
	if err == nil {
		err = m.endKeys(missing == 0)
	}
	if err == nil && missing > 0 {
		m.say("%d of %s missing", missing, plural(read, "key is", "keys are"))
		return errFound
	}
	return err
}

// printKeys prints keys, escaped.
func (m *Main) printKeys(keys []string, first bool) error {
	if m.oneObject() {
		return errors.Join(emitPart(m, "keys", keys, first), m.out.Flush())
	}
	for _, key := range keys {
		if m.lines() {
			if err := m.emitJSONLine("key", key); err != nil {
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

// endKeys ends the object of JSON that printKeys began, unless it printed none.
func (m *Main) endKeys(none bool) error {
	switch {
	case !m.oneObject():
		return nil
	case none:
		return m.emitJSON("keys", []string{})
	}
	_, err := m.out.WriteString("\n  ]\n}\n")
	return err
}
