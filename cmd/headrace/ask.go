package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/migrate"
	"github.com/headrace/headrace/store/txn"
)

// askEvery is the time between two looks at an answer, or at a job.
const askEvery = 200 * time.Millisecond

// askerOf asks the processes of the store's consumers.
func askerOf(st openStore) instance.Asker {
	o := st.Operations()
	return instance.Asker{Requests: o.Requests, Instances: o.Instances, Every: askEvery}
}

// ask asks the processes of a consumer, and waits for the answer. Errors are those of
// instance.Asker, and errInterrupted.
func ask[A any](ctx context.Context, m *Main, st openStore, r instance.Request, args any, valid time.Duration) (answer A, err error) {
	return askLong(ctx, m, st, r, args, valid, atOnce[A])
}

// askLong is ask for what may take long: soFar is called with what the process has done so far.
func askLong[A any](ctx context.Context, m *Main, st openStore, r instance.Request, args any, valid time.Duration, soFar func(A)) (answer A, err error) {
	if r, err = r.With(args); err != nil {
		return answer, err
	}
	asker := askerOf(st)
	asker.Taken = func(a instance.Answer) {
		var done A
		if a.Value != nil && json.Unmarshal(a.Value, &done) == nil {
			soFar(done)
		}
	}
	work, stop := m.Interruptible(ctx)
	defer stop()
	if err = asker.Ask(work, r, valid, &answer); err != nil && work.Err() != nil && ctx.Err() == nil {
		err = fmt.Errorf("%w: what was asked for is not taken back, and a process of %s may still do it: %s",
			errInterrupted, r.Consumer, m.command("consumer ls "+migrate.Quote(r.Consumer)))
	}
	return answer, err
}

// asking is what a command asks the processes of a consumer for, or does itself with --direct.
type asking struct {
	instance.Request
	words  string // those of the command
	direct bool
}

// asks gives a command the flags of one that asks.
func (m *Main) asks(c *cobra.Command, kind, words string) *asking {
	a := &asking{Request: instance.Request{Kind: kind}, words: words}
	c.Flags().BoolVar(&a.direct, "direct", false, "by this command, with an admin's login, where no process of the consumer runs")
	c.Flags().StringVar(&a.By, "by", "", "who decides, for the audit trail (default: your user name)")
	c.Flags().StringVar(&a.Reason, "reason", "", "why, for the audit trail")
	m.writes(c)
	return a
}

// message returns the message that is asked about, whose consumer is asked.
func (a *asking) message(scope, key string) (inbox.ID, error) {
	consumer, _, ok := strings.Cut(scope, "/")
	if !ok {
		return inbox.ID{}, usagef("%s: SCOPE is CONSUMER/HANDLER, and not %q", a.words, scope)
	}
	a.Consumer, a.By = consumer, operator(a.By)
	return inbox.ID{Scope: scope, Key: key}, nil
}

// reaches refuses a dry run where no process could be asked.
func (m *Main) reaches(ctx context.Context, st openStore, a *asking) error {
	if !m.dryRun || a.direct {
		return nil
	}
	return m.namesDirect(askerOf(st).Reaches(ctx, a.Consumer))
}

// carryOut has a process of the consumer do it, or this command, by do. soFar is called with what a process has
// done so far.
func carryOut[A, B any](ctx context.Context, m *Main, st openStore, a *asking, args A, do func(context.Context, instance.Request, A) (B, error), soFar func(B)) (B, error) {
	if a.direct {
		done, err := do(ctx, a.Request, args)
		if txn.NotPermitted(err) {
			err = &roleError{"admin", err}
		}
		return done, err
	}
	answer, err := askLong(ctx, m, st, a.Request, args, instance.Valid, soFar)
	return answer, m.namesDirect(err)
}

// atOnce is soFar of what a process does at once.
func atOnce[A any](A) {}

// namesDirect adds to the error that no process answers what an admin can do with the same command.
func (m *Main) namesDirect(err error) error {
	if errors.Is(err, instance.ErrNoAnswer) {
		return fmt.Errorf("%w. With an admin's login the same command with --direct does it by itself: %s", err, again(m.args, "--direct"))
	}
	return err
}

// again is the command line of args with one more flag, without the DSN: it may hold a password.
func again(args []string, flag string) string {
	words := []string{"headrace"}
	for i := 0; i < len(args); i++ {
		switch arg := args[i]; {
		case arg == "--":
			words = append(words, flag, arg)
			for _, rest := range args[i+1:] {
				words = append(words, migrate.Quote(rest))
			}
			return strings.Join(words, " ")
		case arg == "--dsn":
			i++
		case strings.HasPrefix(arg, "--dsn="):
		default:
			words = append(words, quoteFlag(arg))
		}
	}
	return strings.Join(append(words, flag), " ")
}

// flagName is a flag, without a value.
var flagName = regexp.MustCompile(`^--?[a-z][a-z-]*$`)

// quoteFlag makes an argument a word of a shell. Of a flag only the value may need quotes.
func quoteFlag(arg string) string {
	name, value, given := strings.Cut(arg, "=")
	switch {
	case !flagName.MatchString(name):
		return migrate.Quote(arg)
	case given:
		return name + "=" + migrate.Quote(value)
	}
	return name
}
