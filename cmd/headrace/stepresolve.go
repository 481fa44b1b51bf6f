package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/headrace/headrace/inbox"
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
	done, again, anew, hold, force, yes bool
	externalID, result, by, reason      string
}

func (m *Main) stepsResolveCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "resolve SCOPE KEY STEP --done | --again | --anew", Short: "say what became of a step whose outcome is unknown", Args: exactly("SCOPE", "KEY", "STEP"),
		Long: `Records what a person has found out about a step, and redrives the message, in one commit. It is in the
audit trail. Look the step up in the other system first: headrace steps KEY shows under which key.

With --again and --anew the call is made again, so they are refused while the system may still work on the latest one,
by the step's Timeout and FindAfter, and of a message that is done or discarded, which never runs again: if the call is
missing there, make it by hand, and record it with --done. The result of a step that is done without one may be given
later with --done --result. To give the message up instead, discard its letter: headrace dlq discard --open-calls.

Exit status 5 if the state of the step does not allow it.`,
		Example: "  headrace steps resolve billing/orders.paid order:10492 payout --done --external-id po_77 --reason 'found in the bank portal'",
	}
	f := &resolveFlags{}
	flags := c.Flags()
	flags.BoolVar(&f.done, "done", false, "it was carried out")
	flags.BoolVar(&f.again, "again", false, "nothing was done: call again under the same idempotency key")
	flags.BoolVar(&f.anew, "anew", false, "nothing was done: call again under a new key")
	flags.StringVar(&f.externalID, "external-id", "", "with --done: the id of what it made there")
	flags.StringVar(&f.result, "result", "", "with --done: a file with its result as JSON, - for stdin")
	flags.StringVar(&f.by, "by", "", "who decides, for the audit trail (default: your user name)")
	flags.StringVar(&f.reason, "reason", "", "how you know, for the audit trail")
	flags.BoolVar(&f.hold, "hold", false, "leave the dead letter open")
	flags.BoolVar(&f.force, "force", false, "also if the step is done, or was called a moment ago")
	yesFlag(c, &f.yes)
	m.writes(c)
	c.MarkFlagsMutuallyExclusive("done", "again", "anew")
	c.MarkFlagsOneRequired("done", "again", "anew")
	c.RunE = m.do(func(ctx context.Context, args []string) error { return m.resolveStep(ctx, f, args) })
	return c
}

func (m *Main) resolveStep(ctx context.Context, f *resolveFlags, args []string) (err error) {
	r := resolve.Resolution{
		ID: inbox.ID{Scope: args[0], Key: args[1]}, Step: args[2], Verdict: resolve.Done, ExternalID: f.externalID,
		By: operator(f.by), Reason: f.reason, Hold: f.hold, Force: f.force,
	}
	switch {
	case f.again:
		r.Verdict = resolve.Again
	case f.anew:
		r.Verdict = resolve.Anew
	}
	if f.reason == "" {
		return usagef("resolve: say how you know with --reason")
	}
	if f.result != "" {
		if r.Result, err = m.readResult(f.result); err != nil {
			return err
		}
	}
	if err := m.mayAsk(f.yes, f.result == "-"); err != nil {
		return err
	}
	what := map[resolve.Verdict]string{
		resolve.Done: "record as carried out", resolve.Again: "call again", resolve.Anew: "call again under a new key",
	}[r.Verdict]
	return m.withStore(ctx, func(st openStore) error {
		if err := m.wouldStep(ctx, st, r.ID, r.Step, what); err != nil {
			return err
		}
		if err := m.confirm(f.yes, "%s: step %s of %s %s?", what, r.Step, r.ID.Scope, r.ID.Key); err != nil {
			return err
		}
		o, err := resolve.New(st).Resolve(ctx, r)
		if err != nil {
			return err
		}
		return m.printResolution(r, o)
	})
}

// wouldStep is would for a step that is recorded.
func (m *Main) wouldStep(ctx context.Context, st openStore, id inbox.ID, step, does string) error {
	if !m.dryRun {
		return nil
	}
	rows, err := st.Operations().Steps.List(ctx, id)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(rows, func(r ledger.Row) bool { return r.Step == step })
	if i < 0 {
		return fmt.Errorf("%w: %s of %s %s", resolve.ErrNotFound, step, id.Scope, id.Key)
	}
	return m.would(1, "%s: step %s of %s %s, which is %s", does, step, id.Scope, id.Key, rows[i].State)
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

// resolutionView is what a resolution did, as JSON.
type resolutionView struct {
	Step     string       `json:"step"`
	State    ledger.State `json:"state"`
	LetterID int64        `json:"letter_id,omitempty"`
	Redriven bool         `json:"redriven"`
	Waits    string       `json:"waits_for_step,omitempty"`
}

func (m *Main) printResolution(r resolve.Resolution, o resolve.Outcome) error {
	if m.json() {
		return m.emitJSON("", resolutionView{o.Step.Step, o.Step.State, o.LetterID, o.Redriven, o.Waits})
	}
	rest := "the message has no open letter: it goes on by itself"
	switch {
	case o.Message.Ended():
		rest = fmt.Sprintf("the message is %s: nothing runs", o.Message)
	case o.Redriven:
		rest = fmt.Sprintf("letter %d is redriven", o.LetterID)
	case o.Waits != "":
		rest = fmt.Sprintf("letter %d waits for step %s", o.LetterID, o.Waits)
	case o.LetterID != 0:
		rest = fmt.Sprintf("letter %d is open: %s", o.LetterID, m.command(fmt.Sprintf("dlq redrive %d", o.LetterID)))
	}
	state := string(o.Step.State)
	if o.Step.State == ledger.Done && o.Step.Size < 0 && !o.Message.Ended() {
		state += ", without a result (if it has one, the message comes back: give it with --done --result FILE)"
	}
	says := "is " + state
	if o.Step.State == ledger.Failed {
		says = map[resolve.Verdict]string{resolve.Again: "may be called again under the same key", resolve.Anew: "may be called again under a new key"}[r.Verdict]
	}
	return m.line("step %s %s; %s", r.Step, says, rest)
}
