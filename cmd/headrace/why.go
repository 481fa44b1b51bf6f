package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/groups"
	"github.com/headrace/headrace/dlq/redrive"
	"github.com/headrace/headrace/internal/inspect"
	"github.com/headrace/headrace/internal/migrate"
)

// hoursShown is how many hours the strip of hours has.
const hoursShown = 24

// whyView is a group with what helps to find its cause, as JSON.
type whyView struct {
	groups.Group
	// Looked is how many letters Hours and Builds count: those of the last 35 days.
	Looked int64           `json:"looked_at"`
	Hours  []groups.Hour   `json:"hours"`
	Builds []inspect.Build `json:"builds"`
	// Quiet is how long the consumer had run, as far as its builds are known, without a letter.
	Quiet time.Duration `json:"quiet_before_ns"`
	// Processes is how many of the consumer run.
	Processes int         `json:"processes"`
	Late      string      `json:"late,omitempty"`   // why State may be old
	Letter    *detailView `json:"letter,omitempty"` // the newest one
	// Shared is what its letters share, if that was asked for.
	Shared *inspect.Shared `json:"shared,omitempty"`

	words string // that name it in a command
}

func (m *Main) whyCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "why GROUP | ID", Short: "show a group: since when, from which builds, what runs now, and one letter",
		Long: `Shows the open letters of a group: when they came, which builds wrote them, which builds run now, and the
newest letter with its attempts. GROUP is the error fingerprint, or at least its first 4 digits (see headrace
dlq groups). ID is the number of one of its letters. If several handlers have letters of that fingerprint,
choose with --consumer and --handler.`,
		Example: "  headrace dlq why 3f2a",
	}
	var of dlq.Filter
	addOwner(c, &of)
	which := addNamed(c)
	shared := c.Flags().Bool("shared", false, "say what its letters share and others of the handler do not, with secrets redacted")
	c.RunE = m.do(func(ctx context.Context, args []string) error {
		return m.withStore(ctx, func(st openStore) error {
			f, err := groupOrLetter(ctx, st, which, args, of)
			if err != nil {
				return err
			}
			g, err := m.oneGroup(ctx, st, f)
			if err != nil {
				return err
			}
			v, err := whyOf(ctx, st, g)
			if err != nil {
				return err
			}
			if *shared {
				if v.Shared, err = m.sharedOf(ctx, st, g); err != nil {
					return err
				}
			}
			if m.json() {
				return m.emitJSON("", v)
			}
			if v.words, err = groupWords(ctx, st, g.ID); err != nil {
				return err
			}
			return m.printWhy(v)
		})
	})
	return c
}

// groupOrLetter chooses the group that is named, or that of the letter that is.
func groupOrLetter(ctx context.Context, st openStore, which *named, args []string, of dlq.Filter) (f dlq.Filter, err error) {
	group, letters, err := which.choose(ctx, st, args, of)
	f = of
	if f.ErrorFingerprint = group; err != nil || group != "" {
		return f, err
	}
	if len(letters) > 1 {
		return f, usagef("dlq why takes one GROUP or ID")
	}
	id, ok := parseID(letters[0])
	if !ok {
		f.ErrorFingerprint = letters[0] // which is none, as it says
		return f, nil
	}
	l, err := redrive.New(st).List(ctx, dlq.Filter{IDs: []int64{id}, AnyState: true}, 0, 1)
	if err != nil {
		return f, err
	}
	if len(l) == 0 && len(letters[0]) < inspect.LeastDigits {
		return f, fmt.Errorf("%w: %d", dlq.ErrNotFound, id)
	}
	if f.ErrorFingerprint = letters[0]; len(l) > 0 {
		f = dlq.Filter{Consumer: l[0].Consumer, Handler: l[0].Handler, ErrorFingerprint: l[0].ErrorFingerprint}
	}
	return f, nil
}

func whyOf(ctx context.Context, st openStore, g groups.Group) (v whyView, err error) {
	v.Group, v.Hours = g, []groups.Hour{}
	hours, err := st.Operations().Groups.Hours(ctx, g.ID)
	if err != nil {
		return v, err
	}
	v.Hours = append(v.Hours, hours...)
	started, err := st.Operations().Groups.Builds(ctx, g.Consumer)
	if err != nil {
		return v, err
	}
	known, err := st.Operations().Instances.List(ctx, g.Consumer)
	if err != nil {
		return v, err
	}
	for _, h := range hours {
		v.Looked += h.Count
	}
	v.Builds, v.Processes = inspect.Builds(hours, known, started)
	if len(started) > 0 {
		v.Quiet = max(0, g.First.Sub(started[0].First))
	}
	if v.Late, err = late(ctx, st); err != nil {
		return v, err
	}
	v.Letter, err = letterOf(ctx, st, g)
	return v, err
}

// letterOf returns the newest letter of a group, an older one if only that is open; nil if retention
// has removed it.
func letterOf(ctx context.Context, st openStore, g groups.Group) (*detailView, error) {
	id, err := inspect.Sample(ctx, st, g)
	if err != nil || id == 0 {
		return nil, err
	}
	v, err := viewDetail(ctx, st, redrive.New(st), id, false)
	if errors.Is(err, dlq.ErrNotFound) {
		return nil, nil
	}
	return &v, err
}

func (m *Main) printWhy(v whyView) error {
	if err := m.line("%s  %s", v.ErrorFingerprint, short(text(v.Sample), 200)); err != nil {
		return err
	}
	topic := ""
	if v.Letter != nil {
		topic = ", topic " + text(v.Letter.Topic)
	}
	rows := [][]string{
		{"GROUP", fmt.Sprintf("%s/%s, %s%s", v.Consumer, v.Handler, v.Class, topic)},
		{"STATE", fmt.Sprintf("%s since %s", stateOfGroup(v.Group), m.since(v.StateAt))},
		{"OPEN", fmt.Sprintf("%s of %d, the first %s, the last %s", plural(v.Open, "letter", "letters"), v.Total, m.when(v.First), m.when(v.Last))},
	}
	for _, noted := range [][]string{{"ASSIGNED", v.Assignee}, {"LINK", v.Link}, {"NOTE", v.Note}} {
		if noted[1] != "" {
			rows = append(rows, noted)
		}
	}
	rows = append(rows, []string{"24 H", strip(v.Hours, v.Last)})
	title := "BUILDS"
	for i, b := range v.Builds {
		quiet := ""
		if i == 0 && b.Name == v.FirstBuild && v.Quiet >= time.Hour {
			quiet = fmt.Sprintf("; no letter in the %s before", v.Quiet.Round(time.Hour))
		}
		rows, title = append(rows, []string{title, short(text(b.Name), 40) + ": " + saysBuild(m, b, v.Looked, v.Processes) + quiet}), ""
	}
	if v.Processes == 0 {
		rows = append(rows, []string{title, "no process of " + v.Consumer + " runs"})
	}
	rows = append(rows, sharedRows(v.Shared)...)
	if err := m.table(nil, append(rows, letterRows(v.Letter)...)); err != nil {
		return err
	}
	if v.Late != "" {
		m.say("%s", v.Late)
	}
	return m.printWhyLetter(v)
}

func letterRows(l *detailView) (rows [][]string) {
	if l == nil {
		return [][]string{{"LETTER", "none is left"}}
	}
	rows = append(rows, []string{"LETTER", fmt.Sprintf("%d, key %s, %s, on %s", l.ID, l.Key, plural(l.Attempts, "attempt", "attempts"), text(strings.TrimSpace(l.Host+" "+l.Build)))})
	if l.TraceParent != "" {
		rows = append(rows, []string{"TRACE", l.TraceParent})
	}
	return rows
}

func (m *Main) printWhyLetter(v whyView) error {
	l := v.Letter
	if l == nil {
		return nil
	}
	if err := m.section("attempts", m.attemptLines(l.Runs)); err != nil {
		return err
	}
	if err := m.printStepsOf(l.Key, l.Steps); err != nil {
		return err
	}
	switch {
	case v.Class == dlq.Parked:
		m.next("steps %s", migrate.Quote(l.Key))
	case v.Open > 0 && v.Class == dlq.Conflict:
		m.next("dlq redrive %d --new-key KEY --reason WHY", l.ID)
		m.say("another message had its key first; to give it up: %s", m.command("dlq discard "+v.words+" --reason WHY"))
	case v.Open > 0 && slices.ContainsFunc(v.Builds, inspect.Build.Fixed):
		m.next("%s", v.trial())
		m.sayRedrive(v)
	case v.Open > 0:
		m.next("dlq show %d --payload", l.ID)
		m.say("when a fix runs: %s", m.command(v.trial()))
		m.sayRedrive(v)
	}
	return nil
}

// rehearsed reports whether letters of the group may be rehearsed. What has ended its process is not,
// nor is a leased handler: it alone has steps.
func (v *whyView) rehearsed() bool {
	return v.Class != dlq.Crashed && (v.Letter == nil || len(v.Letter.Steps) == 0)
}

// trial is the command that tries a fix. Where nothing is rehearsed, the first stage of the redrive is
// the trial.
func (v *whyView) trial() string {
	if !v.rehearsed() {
		return "redrive plan " + v.words
	}
	return "dlq rehearse " + v.words
}

// sayRedrive says what tries a fix where the handler is not declared to be rehearsed: the database does
// not know whether it is.
func (m *Main) sayRedrive(v whyView) {
	if v.rehearsed() {
		m.say("if the handler cannot be rehearsed: %s", m.command("redrive plan "+v.words))
	}
}

// saysBuild tells what a build has to do with the group.
func saysBuild(m *Main, b inspect.Build, letters int64, processes int) string {
	wrote, runs := "no letter of this group", "does not run"
	if b.Letters > 0 {
		wrote = fmt.Sprintf("%d of %s, the first %s", b.Letters, plural(letters, "letter", "letters"), m.when(b.First))
		if after := b.First.Sub(b.Started); !b.Started.IsZero() && after >= 0 {
			wrote += fmt.Sprintf(", %s after it first started", after.Round(time.Second))
		}
	}
	if b.Running > 0 {
		runs = fmt.Sprintf("runs on %d of %s since %s", b.Running, plural(processes, "process", "processes"), m.since(b.Since))
	}
	return wrote + "; " + runs
}

// strip draws the hours up to last, one sign each.
func strip(hours []groups.Hour, last time.Time) string {
	counts, most := make([]int64, hoursShown), int64(1)
	end := last.UTC().Truncate(time.Hour)
	for _, h := range hours {
		if ago := int(end.Sub(h.Start) / time.Hour); ago >= 0 && ago < hoursShown {
			counts[hoursShown-1-ago] += h.Count
			most = max(most, counts[hoursShown-1-ago])
		}
	}
	signs := []rune("▁▂▃▄▅▆▇█")
	var b strings.Builder
	for _, n := range counts {
		if n == 0 {
			b.WriteRune('·')
		} else {
			b.WriteRune(signs[(n*int64(len(signs))-1)/most])
		}
	}
	return fmt.Sprintf("%s  at most %d an hour, up to %s", b.String(), most, when(end.Add(time.Hour)))
}
