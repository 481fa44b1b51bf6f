package main

import (
	"context"
	"fmt"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/redrive"
	"github.com/headrace/headrace/internal/migrate"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/store/txn"
)

// openCalls are the steps of chosen letters that a discard would end, although a call of theirs
// may have been carried out.
type openCalls struct {
	letters int64        // with such a step, among the first manyLetters
	rows    []ledger.Row // the first of them, at most openShown
}

// openShown is how many steps are named.
const openShown = 10

func openCallsOf(ctx context.Context, st openStore, f dlq.Filter) (o openCalls, err error) {
	letters, err := redrive.New(st).List(ctx, f, 0, manyLetters)
	for _, l := range letters {
		if err != nil {
			break
		}
		if l.State != dlq.Open || l.Class == dlq.Conflict {
			continue
		}
		var rows []ledger.Row
		rows, err = st.Operations().Steps.List(ctx, l.ID())
		open := false
		for _, r := range rows {
			if r.State != ledger.Pending && r.State != ledger.Parked {
				continue
			}
			if open = true; len(o.rows) < openShown {
				o.rows = append(o.rows, r)
			}
		}
		if open {
			o.letters++
		}
	}
	return o, err
}

// confirmOpenCalls warns of the steps that a discard would end, and asks for the name of one of
// them to be typed. It reports whether there are any.
func (m *Main) confirmOpenCalls(ctx context.Context, st openStore, d *decideFlags, f dlq.Filter, question string) (asked bool, err error) {
	o, err := openCallsOf(ctx, st, f)
	if txn.NotPermitted(err) {
		return false, nil // who may not read steps may not discard either, and that says which role may
	}
	if err != nil || o.letters == 0 {
		return false, err
	}
	m.say("warning: %s a step whose call may have been carried out. After a discard no person is asked about it:", plural(o.letters, "letter has", "letters have"))
	for _, r := range o.rows {
		m.say("  %s: step %s of %s is %s: %s", short(r.ID.Key, 40), r.Step, r.System, r.State, m.command("steps "+migrate.Quote(r.ID.Key)))
	}
	switch {
	case d.openCalls:
		return d.yes, nil
	case d.yes:
		return true, usagef("discard: look first what came of the calls, or give --open-calls too")
	}
	name := o.rows[0].Step
	return true, m.confirmName(name, func(answer string) bool { return answer == name }, "%s", fmt.Sprintf("%s The outcome of the calls stays unknown.", question))
}
