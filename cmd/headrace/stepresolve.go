package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/intervene"
	"github.com/headrace/headrace/internal/migrate"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/ledger/resolve"
)

// exactly allows one argument for each name.
func exactly(names ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == len(names) {
			return nil
		}
		return usagef("%s takes %q, and not %s", c.CommandPath(), names, plural(len(args), "argument", "arguments"))
	}
}

// resolveFlags are the flags of a resolution.
type resolveFlags struct {
	*asking
	done, again, anew, keepOpen, force, yes bool
	externalID, result                      string
}

func (m *Main) stepsResolveCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "resolve SCOPE KEY STEP --done | --again | --anew", Short: "say what became of a step with an unknown outcome", Args: exactly("SCOPE", "KEY", "STEP"),
		Long: `Asks a process of the consumer to record what you have found out about a step, and to redrive the message, in one
commit. The audit trail keeps it. First look the step up in the other system: headrace steps KEY shows its key.

--again and --anew make the call again. So they are refused while the system may still work on the latest call (by the
step's Timeout and FindAfter). They are also refused for a message that is done or discarded, since it never runs again:
if its call is missing, make it by hand and record it with --done. You may add a missing result later with --done
--result. To give the message up instead, discard its letter: headrace dlq discard --open-calls.

Exit status 5 if the state of the step does not allow it, or no process runs. It needs an admin.`,
		Example: "  headrace steps resolve billing/orders.paid order:10492 payout --done --external-id po_77 --reason 'found in the bank portal'",
	}
	f := &resolveFlags{asking: m.asks(c, intervene.ResolveKind, "steps resolve")}
	flags := c.Flags()
	flags.BoolVar(&f.done, "done", false, "it was carried out")
	flags.BoolVar(&f.again, "again", false, "nothing was done: call again under the same idempotency key")
	flags.BoolVar(&f.anew, "anew", false, "nothing was done: call again under a new key")
	flags.StringVar(&f.externalID, "external-id", "", "with --done: the id of what it made there")
	flags.StringVar(&f.result, "result", "", "with --done: a file with its result as JSON, - for stdin")
	flags.BoolVar(&f.keepOpen, "keep-open", false, "leave the dead letter open")
	flags.BoolVar(&f.force, "force", false, "also if the step is done, or was called a moment ago")
	yesFlag(c, &f.yes)
	c.MarkFlagsMutuallyExclusive("done", "again", "anew")
	c.MarkFlagsOneRequired("done", "again", "anew")
	c.RunE = m.do(func(ctx context.Context, args []string) error { return m.resolveStep(ctx, f, args) })
	return c
}

func (m *Main) resolveStep(ctx context.Context, f *resolveFlags, args []string) (err error) {
	if f.Reason == "" {
		return usagef("resolve: say how you know with --reason")
	}
	r := resolve.Resolution{Step: args[2], Decision: resolve.Done, ExternalID: f.externalID, KeepOpen: f.keepOpen, Force: f.force}
	switch {
	case f.again:
		r.Decision = resolve.Again
	case f.anew:
		r.Decision = resolve.Anew
	}
	if r.ID, err = f.message(args[0], args[1]); err != nil {
		return err
	}
	if f.result != "" {
		if r.Result, err = m.readResult(f.result); err != nil {
			return err
		}
	}
	r.By, r.Reason = f.By, f.Reason
	if err := r.Check(); err != nil {
		return err
	}
	if err := m.mayAsk(f.yes, f.result == "-"); err != nil {
		return err
	}
	what := map[resolve.Decision]string{
		resolve.Done: "record as carried out", resolve.Again: "call again", resolve.Anew: "call again under a new key",
	}[r.Decision]
	return m.withStore(ctx, func(st openStore) error {
		if err := m.wouldStep(ctx, st, f.asking, r.ID, r.Step, what); err != nil {
			return err
		}
		if err := m.confirm(f.yes, "%s: step %s of %s %s?", what, r.Step, r.ID.Scope, r.ID.Key); err != nil {
			return err
		}
		a, err := carryOut(ctx, m, st, f.asking, r, (&intervene.Admin{Store: st.Store}).Resolve, atOnce)
		if err != nil {
			return err
		}
		err = m.printResolution(r.Decision, a)
		if a.LetterID != 0 && !a.Redriven && a.Waits == "" && !a.Message.Ended() {
			m.next("dlq redrive %d --reason WHY", a.LetterID)
		} else {
			m.next("steps %s", migrate.Quote(r.ID.Key))
		}
		return err
	})
}

// wouldStep is would for a step, which must be recorded.
func (m *Main) wouldStep(ctx context.Context, st openStore, a *asking, id inbox.ID, step, does string) error {
	row, err := resolve.New(st).Step(ctx, id, step)
	if err != nil {
		return err
	}
	if err := m.reaches(ctx, st, a); err != nil {
		return err
	}
	return m.would(1, "%s: step %s of %s %s, which is %s", does, step, id.Scope, id.Key, row.State)
}

// readResult reads a result from a file, or from stdin.
func (m *Main) readResult(name string) ([]byte, error) {
	in := m.Stdin
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, fmt.Errorf("read the result: %w", err)
		}
		defer func() { _ = file.Close() }()
		in = file
	}
	b, err := io.ReadAll(io.LimitReader(in, ledger.MaxResult+1))
	if err == nil && len(b) == 0 {
		err = errors.New("it is empty")
	}
	if err != nil {
		return nil, fmt.Errorf("read the result: %w", err)
	}
	return b, nil
}

func (m *Main) printResolution(v resolve.Decision, a intervene.Resolved) error {
	if m.json() {
		return m.emitJSON("", a)
	}
	rest := "the message has no open letter: it goes on by itself"
	switch {
	case a.Message.Ended():
		rest = fmt.Sprintf("the message is %s: nothing runs", a.Message)
	case a.Redriven:
		rest = fmt.Sprintf("letter %d is redriven", a.LetterID)
	case a.Waits != "":
		rest = fmt.Sprintf("letter %d waits for step %s", a.LetterID, a.Waits)
	case a.LetterID != 0:
		rest = fmt.Sprintf("letter %d is open: %s", a.LetterID, m.command(fmt.Sprintf("dlq redrive %d", a.LetterID)))
	}
	state := string(a.State)
	if a.State == ledger.Done && a.ResultBytes < 0 && !a.Message.Ended() {
		state += ", without a result (if it has one, the message comes back: give it with --done --result FILE)"
	}
	says := "is " + state
	if a.State == ledger.Failed {
		says = map[resolve.Decision]string{resolve.Again: "may be called again under the same key", resolve.Anew: "may be called again under a new key"}[v]
	}
	return m.line("step %s %s; %s", a.Step, says, rest)
}
