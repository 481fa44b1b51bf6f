package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/job"
	"github.com/headrace/headrace/dlq/redrive"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/redriving"
)

const (
	// fewLetters are sent at once where they are named by their ids; the command waits fewWait for
	// what becomes of them.
	fewLetters = 100
	fewWait    = 5 * time.Second
)

// decidedView is what became of letters that were named by their ids, as JSON.
type decidedView struct {
	Redrive string         `json:"redrive,omitempty"` // none if no letter was open
	State   job.State      `json:"state,omitempty"`
	Why     string         `json:"why,omitempty"` // why it has paused, or what it waits for
	Letters []redrivenView `json:"letters_of_redrive"`

	id       int64
	consumer string
}

// byJob has the processes of the consumer decide on the chosen letters.
func (m *Main) byJob(ctx context.Context, d *decideFlags, args []string, kind job.Kind) error {
	verb := string(kind)
	f, err := m.choose(d, args, verb)
	if err != nil {
		return err
	}
	if !m.dryRun && strings.TrimSpace(d.reason) == "" {
		return usagef("%s: say why with --reason", verb)
	}
	return m.withStore(ctx, func(st openStore) error {
		if err := settleNamed(ctx, st, args, &f); err != nil {
			return err
		}
		switch few := f.IDs != nil && len(f.IDs) <= fewLetters; {
		case m.dryRun:
			err := m.wouldAsk(ctx, st, f, verb)
			if errors.Is(err, errFound) && d.all {
				return nil // there is nothing to do
			}
			return err
		case few:
			return m.decideFew(ctx, st, d, f.IDs, kind)
		}
		return m.decideMany(ctx, st, d, f, kind)
	})
}

// wouldAsk is the dry run of byJob: it refuses what the processes could not be asked for.
func (m *Main) wouldAsk(ctx context.Context, st openStore, f dlq.Filter, verb string) error {
	name, err := m.oneConsumer(ctx, st, f)
	if err != nil {
		return err
	}
	total, err := redrive.New(st).Count(ctx, f)
	if err != nil {
		return err
	}
	if err := askerOf(st).Reaches(ctx, name); err != nil {
		return m.namesDirect(err)
	}
	return m.wouldDecide(f, verb, total)
}

// decideMany plans a redrive, asks the user, applies it and watches it.
func (m *Main) decideMany(ctx context.Context, st openStore, d *decideFlags, f dlq.Filter, kind job.Kind) error {
	id, err := m.plan(ctx, st, redriving.Plan{Kind: kind, Filter: f, Options: job.DefaultOptions()}, d.by)
	if errors.Is(err, errFound) && d.all {
		return nil // there is nothing to do
	}
	if err != nil {
		return m.namesDirect(err)
	}
	r, err := st.Operations().Redrives.Get(ctx, id)
	if err == nil && !m.json() {
		_, err = m.showPlan(ctx, st, r)
	}
	if err != nil {
		return err
	}
	if err := m.confirmLetters(d, f, string(kind), r.Count); err != nil {
		return err
	}
	if err := m.applyPlan(ctx, st, d, r); err != nil {
		return err
	}
	return m.watch(ctx, st, id)
}

// applyPlan applies a plan that the command has made. If that is refused, the plan stays.
func (m *Main) applyPlan(ctx context.Context, st openStore, d *decideFlags, r job.Redrive) error {
	err := m.apply(ctx, st, r, redriving.Apply{ID: r.ID, OpenCalls: d.openCalls}, d.by, d.reason, 0)
	if errors.Is(err, instance.ErrRefused) {
		m.refused = true
		m.next("redrive show %s", job.Name(r.ID))
	}
	return err
}

// decideFew decides on letters at once, and waits for what becomes of them.
func (m *Main) decideFew(ctx context.Context, st openStore, d *decideFlags, ids []int64, kind job.Kind) error {
	f, others, err := openOnes(ctx, st, ids)
	if err != nil {
		return err
	}
	v := decidedView{Letters: others}
	if len(f.IDs) == 0 {
		return errors.Join(m.printDecided(v, kind), errFound)
	}
	if err := m.confirmLetters(d, dlq.Filter{IDs: f.IDs}, string(kind), int64(len(f.IDs))); err != nil {
		return err
	}
	o := job.DefaultOptions()
	o.Stages, o.PauseAt = nil, 100
	id, err := m.plan(ctx, st, redriving.Plan{Kind: kind, Filter: f, Options: o}, d.by)
	if err != nil {
		return m.namesDirect(err)
	}
	r, err := st.Operations().Redrives.Get(ctx, id)
	if err != nil {
		return err
	}
	if err := m.applyPlan(ctx, st, d, r); err != nil {
		return err
	}
	if r, err = m.awaitEnd(ctx, st, id); err != nil {
		return err
	}
	became, err := redriven(ctx, st, id, "", 0, fewLetters)
	if err != nil {
		return err
	}
	v.id, v.consumer = id, r.Consumer
	v.Redrive, v.State, v.Why, v.Letters = job.Name(id), r.State, r.Why, append(v.Letters, became...)
	if err := m.printDecided(v, kind); err != nil {
		return err
	}
	switch {
	case r.State == job.Paused:
		return errPaused
	case r.Succeeded != int64(len(ids)):
		return skippedAll(ctx, st, r)
	}
	return nil
}

// skippedAll returns the end of a redrive of which not all letters succeeded: that nothing was done if it has skipped
// all and closed none, as it closes those of messages that were applied already.
func skippedAll(ctx context.Context, st openStore, r job.Redrive) error {
	if r.State != job.Done || r.Count == 0 || r.Skipped != r.Count {
		return errIncomplete
	}
	skipped, err := st.Operations().Redrives.Entries(ctx, r.ID, job.Skipped, 0, fewLetters)
	if err != nil {
		return err
	}
	for _, e := range skipped {
		trail, err := st.Letters().Trail(ctx, e.LetterID)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(trail, func(a dlq.Audit) bool { return a.RedriveID == r.ID }) {
			return errIncomplete
		}
	}
	return errRefused
}

// openOnes chooses the open letters of ids, which are of one consumer, and says what became of the
// others.
func openOnes(ctx context.Context, st openStore, ids []int64) (f dlq.Filter, others []redrivenView, err error) {
	others = []redrivenView{}
	letters, err := redrive.New(st).List(ctx, dlq.Filter{IDs: ids, AnyState: true}, 0, len(ids))
	if err != nil {
		return f, nil, err
	}
	for _, id := range ids {
		i := slices.IndexFunc(letters, func(l dlq.Letter) bool { return l.LetterID == id })
		if i >= 0 && letters[i].State == dlq.Open {
			if f.Consumer != "" && f.Consumer != letters[i].Consumer {
				return f, nil, usagef("letters of two consumers, %s and %s: decide on those of one at a time", f.Consumer, letters[i].Consumer)
			}
			f.IDs, f.Consumer = append(f.IDs, id), letters[i].Consumer
			continue
		}
		skip := redrivenView{LetterID: id, Outcome: job.Skipped}
		if i >= 0 {
			skip, err = decidedBefore(ctx, st, letters[i])
		} else {
			skip.Why = "there is no such letter"
		}
		if err != nil {
			return f, nil, err
		}
		others = append(others, skip)
	}
	return f, others, nil
}

// decidedBefore says what became of a letter that is not open.
func decidedBefore(ctx context.Context, st openStore, l dlq.Letter) (redrivenView, error) {
	v := redrivenView{LetterID: l.LetterID, Outcome: job.Skipped, Key: l.Delivery.Key, Why: fmt.Sprintf("it is %s", l.State), At: l.ChangedAt}
	trail, err := st.Letters().Trail(ctx, l.LetterID)
	if err != nil {
		return v, err
	}
	if len(trail) > 0 {
		last := trail[len(trail)-1]
		v.Why = fmt.Sprintf("it was %s by %s", l.State, last.By)
		if last.RedriveID > 0 {
			v.Why += " in " + job.Name(last.RedriveID)
		}
	}
	v.before = true
	v.Next, err = st.Letters().Next(ctx, l.LetterID)
	return v, err
}

// awaitEnd waits a little for the end of a redrive.
func (m *Main) awaitEnd(ctx context.Context, st openStore, id int64) (r job.Redrive, err error) {
	work, stop := m.Interruptible(ctx)
	defer stop()
	for end := time.Now().Add(fewWait); ; {
		if r, err = st.Operations().Redrives.Get(ctx, id); err != nil || r.State != job.Running || time.Now().After(end) {
			return r, err
		}
		select {
		case <-work.Done():
			return r, fmt.Errorf("%w; %s goes on: %s", errInterrupted, job.Name(id), m.command("redrive watch "+job.Name(id)))
		case <-time.After(askEvery):
		}
	}
}

// printDecided prints what became of letters, and names what comes next.
func (m *Main) printDecided(v decidedView, kind job.Kind) error {
	if m.json() {
		return m.emitJSON("", v)
	}
	var dead int64
	underWay, discarded := v.State == job.Running, false
	rows := make([][]string, 0, len(v.Letters))
	for _, l := range v.Letters {
		says := string(l.Outcome)
		if l.Outcome == job.Succeeded && kind == job.Discarding {
			says, discarded = "discarded", true
		}
		if l.Outcome == job.FailedAgain {
			says = "failed again"
		}
		if l.Why != "" {
			says += ": " + l.Why
		}
		if l.before {
			says += ", " + m.when(l.At)
		}
		if l.Next > 0 {
			dead = l.Next
			says += fmt.Sprintf("; dead again as letter %d", l.Next)
		}
		if !l.Due.IsZero() {
			says += ", due " + m.when(l.Due)
		}
		rows = append(rows, []string{number(l.LetterID), says})
	}
	if v.Redrive != "" {
		head := fmt.Sprintf("%s %s", v.Redrive, v.State)
		if v.Why != "" {
			head += ": " + v.Why
		}
		if err := m.line("%s", head); err != nil {
			return err
		}
	}
	if err := m.table(nil, rows); err != nil {
		return err
	}
	switch {
	case dead > 0:
		m.next("dlq show %d", dead)
	case underWay:
		m.next("redrive watch %s", v.Redrive)
	case v.State == job.Paused:
		m.next("redrive show %s", v.Redrive)
	case discarded && v.State == job.Done:
		m.nextDiscarded(v.id, v.consumer)
	default:
		if i := slices.IndexFunc(v.Letters, func(l redrivenView) bool { return l.Key != "" }); i >= 0 { // it exists
			m.next("dlq show %d", v.Letters[i].LetterID)
		}
	}
	return nil
}
